"""Hard forwards, soft backwards

write · ★★★ · 15 min · 01-foundations/6-hard-sparse-local · after foundations.softmax-backward

In PyTorch: key `index` (..., m) was drawn for each query from the softmax of S (..., m, n). Return the
drawn rows of V (..., n, d_v), and the straight-through gradient of S. The gradient of the output is dO
(..., m, d_v). Let autograd compute it: build weights whose values are one-hot and whose gradient is that of
the softmax.

1. `detach()` gives the same numbers as a constant, with no way back. Which sum of a constant and P has the
   numbers of the constant and the derivative of P?
2. Add to the one-hot rows something whose value is zero and whose derivative with respect to P is one.
3. One-hot rows, plus the softmax weights, minus a detached copy of the same weights; multiply that with V,
   and ask `torch.autograd.grad` for the derivative with respect to a copy of S that requires it.

P - P.detach() is zero in numbers, but only its first half has a derivative. In NumPy you would write the
two directions as two functions; in PyTorch one line of the forward decides what the backward sees. If the
loss is not linear in the output, this gradient is biased.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.lazy import torch


def straight_through(S, V, index, dO):
    """The drawn values, and the gradient with respect to the scores as if the weights had been used."""
    S = S.detach().requires_grad_()
    P = S.softmax(dim=-1)
    hit = torch.nn.functional.one_hot(index, P.shape[-1]).to(P.dtype)
    weights = hit + P - P.detach()
    O = weights @ V
    (dS,) = torch.autograd.grad(O, S, dO)
    return O, dS


def reference(S, V, index, dO):
    from attnlib.reference import hard

    O, cache = hard.straight_through_attention(S.numpy(), V.numpy(), index.numpy())
    return torch.from_numpy(O), torch.from_numpy(
        hard.straight_through_attention_backward(dO.numpy(), cache)[0]
    )


def cases(rng):
    def case(batch, m, n, d_v, dtype: type = np.float64):
        S, V, dO = (rng.normal(size=(*batch, *size)).astype(dtype) for size in ((m, n), (n, d_v), (m, d_v)))
        index = rng.integers(n, size=(*batch, m))
        return tuple(torch.from_numpy(array) for array in (S, V, index, dO))

    return {
        "two queries, three keys": case((), 2, 3, 4),
        "a batch of two": case((2,), 3, 5, 7),
        "all sizes equal": case((3,), 3, 3, 3),
        "float32": case((), 2, 4, 5, np.float32),
    }


def straight_by_hand(S, V, index, dO):
    P = torch.softmax(S, dim=-1)
    dP = dO @ V.transpose(-2, -1)
    rows = torch.take_along_dim(V, index[..., None], dim=-2)
    return rows, P * (dP - (dP * P).sum(dim=-1, keepdim=True))


NEEDS = ("torch",)
RETURNS = ("O", "dS")
VARIANTS = (straight_by_hand, {"hit + P - P.detach()": "(hit - P).detach() + P"})
MISTAKES = (
    Mistake("the wrong one is detached", "The gradient has the wrong sign: the P that is added was cut off, and the "
        "one that is subtracted was not.", {"hit + P - P.detach()": "hit + P.detach() - P"}),
    Mistake("soft forwards", "These are averages of all values; forwards, only the drawn value should come through.",
        {"hit + P - P.detach()": "P"}),
    Mistake("P was not taken away again", "The output is the drawn value plus the average of all: what was added has "
        "to be taken away, detached.", {"hit + P - P.detach()": "hit + P"}),
    Mistake("one-hot times P", "Only the drawn key keeps its weight, and that weight is less than one.",
        {"hit + P - P.detach()": "hit * P"}),
    Mistake("only the drawn key answers", "The output is right, but going back, only the drawn weight was seen; every "
        "key's weight has a derivative here.", {"hit + P - P.detach()": "hit + hit * (P - P.detach())"}),
    Mistake("the largest weight, not the draw", "The key of the largest weight was taken; `index` is the key that was "
        "drawn.", {"one_hot(index,": "one_hot(P.argmax(dim=-1),"}),
    Mistake("the softmax is missing in the backward pass",
        "This is the gradient with respect to the weights; the scores lie before the "
        "softmax.",
        {"grad(O, S, dO)": "grad(O, P, dO)"}, {"P = S.softmax(dim=-1)": "P = S * 1"}),
)  # fmt: skip
