"""The twin of `attnlib.reference.drop`: dropout with what is kept drawn by the caller.

Chapter 5 shows its four places. Layers use `torch.nn.Dropout` and the dropout of PyTorch's operator, which draw alone.
"""

from torch import Tensor

from attnlib.nn.ops import masked_softmax
from attnlib.nn.scores import scaled_dot_scores
from attnlib.shapes import Bool, Float, Number, checked


@checked
def dropout(
    X: Float[Tensor, "*s"], kept: Bool[Tensor, "*s"], share: Number[float, "0<..1"]
) -> Float[Tensor, "*s"]:
    """What is kept, divided by the share that is kept on average; zeros for the rest: so the mean over draws is X."""
    return X * (kept.to(X.dtype) / share)


@checked
def dropped_attention(
    Q: Float[Tensor, "*b m d_k"],
    K: Float[Tensor, "*b n d_k"],
    V: Float[Tensor, "*b n d_v"],
    kept: Bool[Tensor, "*b m n"],
    share: Number[float, "0<..1"],
    mask: Bool[Tensor, "*#b #m #n"] | None = None,
) -> Float[Tensor, "*b m d_v"]:
    """Attention that loses some keys while training. The weights that stay do not sum to one, only on average."""
    P = masked_softmax(scaled_dot_scores(Q, K), mask)
    return dropout(P, kept, share) @ V
