"""A gradient from a draw and a reward

write · ★★ · 15 min · 01-foundations/6-hard-sparse-local · after foundations.softmax,
foundations.softmax-jacobian

One key was drawn from the softmax of each row of S (..., n): `index` (...) is its index, `reward` (...) the reward
that followed. `baseline` is one number. Return the REINFORCE estimate (..., n) of the gradient of the mean reward with
respect to the scores.

1. What is the derivative of ln p_i with respect to each of the scores, if p is their softmax?
2. ln p_i is s_i minus the log-sum-exp of the row. The first part gives a one at the drawn key; what does
   the second give at every key?
3. A one-hot row for the drawn key, minus the softmax of the row; all of it times how much the reward
   exceeds the baseline.

The estimate needs only the reward of the key that was drawn. A baseline changes no mean, because one-hot
minus P has mean zero; it can change the variance a great deal.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def reinforce_gradient(S, index, reward, baseline):
    """An estimate, for each draw, of how the mean reward changes with the scores."""
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    P = E / E.sum(axis=-1, keepdims=True)
    hit = (index[..., None] == np.arange(S.shape[-1])).astype(S.dtype)
    return (reward - baseline)[..., None] * (hit - P)


def reference(S, index, reward, baseline):
    from attnlib.reference import hard

    return hard.reinforce_gradient(S, index, reward, baseline)


def cases(rng):
    def case(*size, scale=1.0, dtype: type = np.float64):
        S = scale * rng.normal(size=size)
        index = rng.integers(size[-1], size=size[:-1])
        reward = rng.normal(size=size[:-1])
        return S.astype(dtype), index, reward.astype(dtype), dtype(0.7)

    return {
        "two draws, three keys": case(2, 3),
        "a batch": case(2, 3, 5),
        "as many draws as keys": case(4, 4),
        "scores around 800": case(5, 4, scale=900.0),
        "float32": case(2, 4, dtype=np.float32),
    }


def reinforce_by_loops(S, index, reward, baseline):
    out = np.empty_like(S)
    for where in np.ndindex(*index.shape):
        E = np.exp(S[where] - S[where].max())
        out[where] = -E / E.sum()
        out[where][index[where]] += 1
        out[where] *= reward[where] - baseline
    return out


VARIANTS = (
    reinforce_by_loops,
    {"(index[..., None] == np.arange(S.shape[-1])).astype(S.dtype)": "np.eye(S.shape[-1], dtype=S.dtype)[index]",
     "(reward - baseline)[..., None] * (hit - P)": "np.einsum('...,...j->...j', reward - baseline, hit - P)"},
    {".astype(S.dtype)": ".astype(np.float64)"},
)  # fmt: skip
MISTAKES = (
    Mistake("the baseline is not subtracted", "These use the bare reward: the mean is right, but every draw is pushed "
        "by rewards that are good or bad for all keys alike.", {"(reward - baseline)": "reward"}),
    Mistake("the baseline is added", "What counts is by how much the reward exceeds the baseline: a difference.",
        {"reward - baseline": "reward + baseline"}),
    Mistake("the baseline was subtracted from the gradient", "The baseline belongs to the reward, before it "
        "multiplies; taken from the gradient it changes the mean.",
        {"(reward - baseline)[..., None] * (hit - P)": "reward[..., None] * (hit - P) - baseline"}),
    Mistake("the sum term is missing", "Only the drawn key moves here. Its weight can only grow if the others shrink, "
        "so the softmax is subtracted at every key.", {"hit - P": "hit"}),
    Mistake("the drawn key is missing", "The drawn key has no effect here: every draw lowers all scores alike.",
        {"(hit - P)": "(-P)"}),
    Mistake("the sign is turned", "A draw that did better than the baseline should become likelier; here it becomes "
        "rarer.", {"hit - P": "P - hit"}),
    Mistake("weighted by the probability once more", "The draw already takes key i with probability p_i. Weighting by "
        "p_i again counts it twice: this is the derivative of p, and ln p was needed.",
        {"(reward - baseline)[..., None]": "((reward - baseline)[..., None] * (hit * P).sum(-1, keepdims=True))"}),
    Mistake("derivative with respect to the weights",
        "1/p at the drawn key is the derivative of ln p with respect to the weights. The scores "
        "lie before the softmax.", {"(hit - P)": "(hit / np.maximum(P, 1e-300))"}),
    Mistake("averaged over the draws", "Each draw has its own estimate; here the first axis was averaged away and all "
        "got the same.",
        lambda S, index, reward, baseline: np.broadcast_to( reinforce_gradient(S, index, reward,
            baseline).mean(axis=0), S.shape ).copy()),
    Mistake("rewards changed in place", "The numbers are right, but the caller's rewards are now smaller by the "
        "baseline. Make a new array.", {"return (reward - baseline)": "reward -= baseline\n    return reward"}),
)  # fmt: skip
