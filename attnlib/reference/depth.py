"""Stochastic depth: while training, for some sequences a sublayer is left out, and scaled up for the others.

Book: Chapter 5, with the other regularisers. The twin is `attnlib.nn.depth`.
"""

from attnlib.shapes import Array, Bool, Float, Number, checked


@checked
def stochastic_depth(
    Y: Float[Array, "*b n d"], kept: Bool[Array, "*b"], share: Number[float, "0<..1"]
) -> Float[Array, "*b n d"]:
    """What a sublayer adds for the sequences that keep it, divided by the share of them; zeros for the others.

    So on average over `kept` it is Y, and nothing has to change when the training is over.

    >>> import numpy as np
    >>> stochastic_depth(np.array([[[3.0]], [[3.0]]]), np.array([True, False]), share=0.75).ravel()
    array([4., 0.])
    """
    return Y * (kept / share).astype(Y.dtype)[..., None, None]


@checked
def stochastic_depth_backward(
    dY: Float[Array, "*b n d"], kept: Bool[Array, "*b"], share: Number[float, "0<..1"]
) -> Float[Array, "*b n d"]:
    """What is left out has no gradient."""
    return stochastic_depth(dY, kept, share)
