"""The twin of `attnlib.reference.glu`: gated linear units.

Chapter 4 compares them. `attnlib.nn.transformer.FeedForward` with `gated=True` holds the linear maps.
"""

from torch import Tensor

from attnlib.nn.activations import gelu, relu, sigmoid, swish
from attnlib.shapes import Float, checked


@checked
def glu(A: Float[Tensor, "*s"], G: Float[Tensor, "*s"]) -> Float[Tensor, "*s"]:
    """A times the sigmoid of G, which is between zero and one."""
    return A * sigmoid(G)


@checked
def reglu(A: Float[Tensor, "*s"], G: Float[Tensor, "*s"]) -> Float[Tensor, "*s"]:
    """A times G where G is positive, and zero elsewhere."""
    return A * relu(G)


@checked
def geglu(A: Float[Tensor, "*s"], G: Float[Tensor, "*s"]) -> Float[Tensor, "*s"]:
    """A times the GELU of G."""
    return A * gelu(G)


@checked
def swiglu(A: Float[Tensor, "*s"], G: Float[Tensor, "*s"]) -> Float[Tensor, "*s"]:
    """A times the swish of G: what Llama's feed-forward network does."""
    return A * swish(G)
