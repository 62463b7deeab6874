"""The same file names and function names as `attnlib.reference`, in PyTorch, for use.

Autograd does the backward, so a function returns its output alone. Functions with parameters to learn have a module
beside them that holds these: `attention.AttentionLayer`, `scores.AdditiveScore`, `layers.SelfAttention`,
`multihead.MultiHeadAttention`. What a decoder remembers is in `cache`; a model that writes is called by way of `bare`.

Nothing here looks at the value of a tensor, so layers compile, `vmap`, shard and run ahead of a GPU; `debug` looks.
"""
