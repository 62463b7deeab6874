"""Who reads whom?

write · ★★ · 12 min · 02-self-attention/3-masks

J[i, a, j, b] is the derivative of entry a of output i by entry b of input j, as `torch.func.jacrev` gives
it. Return the table (n, n) that is True where output i depends on input j at all.

1. When does output i not depend on input j? How many derivatives say so?
2. One derivative that is not zero is enough. A sum may be zero although its terms are not.
3. Ask each entry whether it is different from zero, then ask for any, over the two axes of entries.

For a causal layer the table is True on and below the diagonal and False above it: exactly, since a hidden
weight is exactly zero. A single True above the diagonal is a leak, whatever its size.
"""

import numpy as np


def who_reads_whom(J):
    """(n, n), True where output i depends on input j."""
    return (J != 0).any(axis=(1, 3))


def cases(rng):
    def jacobian(reads, d_out, d_in):
        n, m = reads.shape
        return rng.normal(size=(n, d_out, m, d_in)) * reads[:, None, :, None]

    causal = np.tri(4, 4, dtype=bool)
    leak = causal.copy()
    leak[0, 2] = True
    sparse = jacobian(causal, 2, 3)
    sparse[3, :, 0, 1:] = 0
    sparse[2, 0, 1, :] = 0
    sparse[2, 1, 1, :] = -abs(sparse[2, 1, 1, :])
    sparse[3, :, 2, :] = [[-1.0, 0.0, 0.0], [0.0, 0.0, -2.0]]
    canceling = jacobian(causal[:3, :3], 2, 2)
    canceling[2, 0, 0] = [1.0, -1.0]
    canceling[2, 1, 0] = [-2.0, 2.0]
    return {
        "four tokens, causal": (jacobian(causal, 3, 2),),
        "a leak": (jacobian(leak, 2, 2),),
        "some derivatives are zero": (sparse,),
        "derivatives that cancel": (canceling,),
        "all sizes equal": (jacobian(np.tri(3, 3, dtype=bool), 3, 3),),
        "tiny derivatives": (
            np.where(np.tri(4, 4, -1)[:, None, :, None], 1, 1e-12) * jacobian(causal, 2, 2),
        ),
    }


def read_by_sums(J):
    return np.abs(J).sum(axis=3).sum(axis=1) > 0


def read_by_loops(J):
    n, m = J.shape[0], J.shape[2]
    return np.array([[bool(np.any(J[i, :, j, :])) for j in range(m)] for i in range(n)])


VARIANTS = """
    read_by_sums
    read_by_loops
"""
MISTAKES = """
derivatives cancelled in a sum | The derivatives were added up before they were compared with zero: +1 and
  -1 look like no dependence.
    (J != 0).any(axis=(1, 3)) => (J.sum(axis=(1, 3)) != 0)
every derivative must differ from zero | One derivative that is not zero is enough for a dependence.
    .any( => .all(
negative derivatives do not count | A derivative below zero is a dependence too: whatever differs from zero
  counts.
    J != 0 => J > 0
    (J != 0).any(axis=(1, 3)) => (J.max(axis=(1, 3)) != 0)
    (J != 0).any(axis=(1, 3)) => (J.sum(axis=(1, 3)) > 0)
small derivatives were taken for zero | A leak of 1e-12 is a leak: a masked weight is zero exactly.
    J != 0 => abs(J) > 1e-8
sizes, not booleans | This says how large the derivatives are. Asked for is True or False: does i depend on
  j at all?
    (J != 0).any(axis=(1, 3)) => abs(J).max(axis=(1, 3))
    (J != 0).any(axis=(1, 3)) => abs(J).sum(axis=(1, 3))
inputs in the rows | The table is transposed: row i belongs to output i.
    return (J != 0).any(axis=(1, 3)) => return (J != 0).any(axis=(1, 3)).T
independence, not dependence | The table is turned round: True where output i depends on input j.
    return (J != 0).any(axis=(1, 3)) => return ~(J != 0).any(axis=(1, 3))
"""
