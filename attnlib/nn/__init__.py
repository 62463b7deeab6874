"""The functions of `attnlib.reference` in PyTorch, with the same file names and function names.

Autograd does the backward, so a function returns only its output. A function with learned parameters has a module that
holds them: `attention.AttentionLayer`, `scores.AdditiveScore`, `layers.SelfAttention`,
`multihead.MultiHeadAttention`. The keys and values that a decoder keeps between steps are in `cache`, those of a
window in `ring_cache`, the state of a layer that has one in `state_cache`; `direct_calls` makes its steps faster.

No function depends on the values in a tensor, so layers can be compiled, mapped with `vmap`, sharded, and run without
waiting for a GPU. `debug` checks values.

Each name can be imported from here, `from attnlib.nn import MultiHeadAttention`; its file is loaded then, and no other.
"""

from attnlib.extras import must_be_there
from attnlib.lazy import exports

must_be_there(__name__, "torch")
__getattr__, __dir__ = exports(__name__, __file__)
