"""The twin of `attnlib.reference.drop`: dropout with a mask of kept entries that the caller draws.

Chapter 5 shows where a transformer has dropout. Layers use `torch.nn.Dropout` and the fused operator's own, which draw
the mask themselves.
"""

from torch import Tensor

from attnlib.nn.ops import masked_softmax
from attnlib.nn.scores import scaled_dot_scores
from attnlib.shapes import Bool, Float, Number, checked


@checked
def dropout(
    X: Float[Tensor, "*s"], kept: Bool[Tensor, "*s"], share: Number[float, "0<..1"]
) -> Float[Tensor, "*s"]:
    """The kept entries, divided by the share that is kept on average, and zeros elsewhere: on average this is X."""
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
    """Attention with dropout on its weights. The rows of kept weights sum to one only on average."""
    P = masked_softmax(scaled_dot_scores(Q, K), mask)
    return dropout(P, kept, share) @ V
