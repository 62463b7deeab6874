"""What would a little less of this head do?

write · ★★ · 12 min · 03-multi-head/5-heads-at-work · after multi-head.sum-form

The output Y (..., n, d) is the sum over heads of gate_k times parts[..., k, :, :], with parts (..., h, n,
d) and all gates at one. dY is the gradient of the loss by Y. Return the gradient by the h gates; a gate is
shared by the whole batch.

1. How does the loss change if one gate grows a little?
2. Each entry of Y moves by the head's part there, and each such move counts by dY.
3. Multiply dY with each head's part and sum over all axes but the one of the heads.

One backward pass gives this for all heads, while switching them off takes one forward pass each. It is a
slope: for a head with a large part it need not say what happens when the gate goes all the way to zero.
"""

import numpy as np

from attnlib.exercises.kit.drawing import drawn


def importance(dY, parts):
    """(h): for each head the derivative of the loss by a gate on its part of the output, at gate one."""
    return (dY[..., None, :, :] * parts).sum(axis=(-1, -2)).reshape(-1, parts.shape[-3]).sum(axis=0)


def importance_by_einsum(dY, parts):
    return np.einsum("bnd,bhnd->h", dY.reshape(-1, *dY.shape[-2:]), parts.reshape(-1, *parts.shape[-3:]))


def cases(rng):
    return {
        "two heads, three tokens": drawn(rng, (3, 2), (2, 3, 2)),
        "a batch of two": drawn(rng, (2, 4, 5), (2, 3, 4, 5)),
        "as many heads as tokens": drawn(rng, (2, 3, 3), (2, 3, 3, 3)),
    }


VARIANTS = """
    importance_by_einsum
    dY[..., None, :, :] => np.expand_dims(dY, -3)
"""
MISTAKES = """
absolute values were summed | Signs belong to a gradient: parts that help in one place and hurt in another
  cancel.
    (dY[..., None, :, :] * parts) => abs(dY[..., None, :, :] * parts)
the sign is lost | This is how large the derivative is. Whether the head helps or hurts is in its sign.
    return (dY => return abs((dY ;; parts.shape[-3]).sum(axis=0) => parts.shape[-3]).sum(axis=0))
a mean, not a sum | The gate moves all entries at once, so their effects add up.
    .sum(axis=(-1, -2)) => .mean(axis=(-1, -2))
the size of the part alone | A large part matters only where the loss asks for it: dY is missing.
    (dY[..., None, :, :] * parts) => (parts * parts)
the gradient alone | dY is the same for all heads; what differs is their parts.
    (dY[..., None, :, :] * parts) => (dY[..., None, :, :] + 0 * parts)
the sign is turned | This is what less of the head does. The gradient says what more of it does.
    return (dY => return (-dY
a gradient for each sequence | The gate is shared by the batch: add its gradients over the sequences.
    .reshape(-1, parts.shape[-3]).sum(axis=0) =>
sequences were taken for heads | The reshape cut across the batch. The heads are the third axis from the
  end.
    .sum(axis=(-1, -2)).reshape(-1, parts.shape[-3]).sum(axis=0) => .reshape(parts.shape[-3], -1).sum(axis=1)
the batch was averaged | The gate is shared by the batch, so the gradients of its sequences add up.
    .sum(axis=0) => .mean(axis=0)
"""
