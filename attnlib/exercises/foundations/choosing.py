"""Learning to choose one key: the score function, its baseline, a straight way through (eq-reinforce)."""

import numpy as np

from attnlib.exercises.lazy import torch
from attnlib.exercises.model import CodeExercise, Mistake, ProofExercise

PAGE = "01-foundations/6-hard-sparse-local-monotonic"


def reinforce_gradient(S, index, reward, baseline):
    """An estimate, for each draw, of how the mean reward changes with the scores."""
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    P = E / E.sum(axis=-1, keepdims=True)
    hit = (index[..., None] == np.arange(S.shape[-1])).astype(S.dtype)
    return (reward - baseline)[..., None] * (hit - P)


def reinforce_reference(S, index, reward, baseline):
    from attnlib.reference import hard

    return hard.reinforce_gradient(S, index, reward, baseline)


def reinforce_cases(rng):
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


reinforce = CodeExercise(
    id="foundations.reinforce",
    title="A gradient from a draw and a reward",
    kind="write",
    level=2,
    minutes=15,
    page=PAGE,
    task="One key was drawn from the softmax of each row of S (..., n): `index` (...) says which, `reward` (...) what "
    "came of it. Return the score-function estimate (..., n) of the gradient of the mean reward by the scores, with "
    "`baseline`, one number, taken from each reward.",
    hints=(
        "What is the derivative of ln p_i by each of the scores, if p is their softmax?",
        "ln p_i is s_i minus the log-sum-exp of the row. The first part gives a one at the drawn key; what does the "
        "second give at every key?",
        "A one-hot row for the drawn key, minus the softmax of the row; all of it times how much the reward exceeds "
        "the baseline.",
    ),
    commentary="The estimate asks only for the reward of the key that was drawn. A baseline changes no mean, because "
    "one-hot minus P has mean zero; it can change the variance a great deal.",
    prerequisites=("foundations.softmax", "foundations.softmax-jacobian"),
    solution=reinforce_gradient,
    reference=reinforce_reference,
    cases=reinforce_cases,
    variants=(
        reinforce_by_loops,
        {
            "(index[..., None] == np.arange(S.shape[-1])).astype(S.dtype)": "np.eye(S.shape[-1], dtype=S.dtype)[index]",
            "(reward - baseline)[..., None] * (hit - P)": (
                "np.einsum('...,...j->...j', reward - baseline, hit - P)"
            ),
        },
    ),
    mistakes=(
        Mistake(
            "the baseline is not subtracted",
            "These use the bare reward: the mean is right, but every draw is pushed by rewards that are good or bad "
            "for all keys alike.",
            {"(reward - baseline)": "reward"},
        ),
        Mistake(
            "the baseline is added",
            "What counts is by how much the reward exceeds the baseline: a difference.",
            {"reward - baseline": "reward + baseline"},
        ),
        Mistake(
            "the baseline was subtracted from the gradient",
            "The baseline belongs to the reward, before it multiplies; taken from the gradient it changes the mean.",
            {
                "(reward - baseline)[..., None] * (hit - P)": "reward[..., None] * (hit - P) - baseline",
            },
        ),
        Mistake(
            "the sum term is missing",
            "Only the drawn key moves here. Its weight can only grow if the others shrink, so the softmax is "
            "subtracted at every key.",
            {"hit - P": "hit"},
        ),
        Mistake(
            "the drawn key is missing",
            "Nothing tells which key was drawn: every draw lowers all scores alike.",
            {"(hit - P)": "(-P)"},
        ),
        Mistake(
            "the sign is turned",
            "A draw that did better than the baseline should become likelier; here it becomes rarer.",
            {"hit - P": "P - hit"},
        ),
        Mistake(
            "weighted by the probability once more",
            "The draw already takes key i with probability p_i. Weighting by p_i again counts it twice: this is the "
            "derivative of p, and ln p was needed.",
            {
                "(reward - baseline)[..., None]": "((reward - baseline)[..., None] * (hit * P).sum(-1, keepdims=True))"
            },
        ),
        Mistake(
            "derivative by the weights",
            "1/p at the drawn key is the derivative of ln p by the weights. The scores lie before the softmax.",
            {"(hit - P)": "(hit / np.maximum(P, 1e-300))"},
        ),
        Mistake(
            "averaged over the draws",
            "Each draw has its own estimate; here the first axis was averaged away and all got the same.",
            lambda S, index, reward, baseline: np.broadcast_to(
                reinforce_gradient(S, index, reward, baseline).mean(axis=0), S.shape
            ).copy(),
        ),
        Mistake(
            "no maximum subtracted",
            "exp(800) is larger than the largest float, so it becomes inf, and inf / inf is nan.",
            {"S - S.max(axis=-1, keepdims=True)": "S"},
        ),
        Mistake(
            "rewards changed in place",
            "The numbers are right, but the caller's rewards are now smaller by the baseline. Make a new array.",
            {"return (reward - baseline)": "reward -= baseline\n    return reward"},
        ),
        Mistake(
            "float32 became float64",
            "float32 went in, float64 came out: a comparison turned into numbers as float64, or a float64 number took "
            "part.",
            {".astype(S.dtype)": ".astype(np.float64)"},
        ),
    ),
)


best_baseline = ProofExercise(
    id="foundations.best-baseline",
    title="The best baseline is not the mean reward",
    kind="prove",
    level=3,
    minutes=20,
    page=PAGE,
    task="A key $i$ is drawn with probability $p_i$, and $g_i = (R_i - b)\\,u_i$ estimates the gradient, where "
    "$u_i = e_i - p$ is the derivative of $\\ln p_i$ by the scores. Prove that $b$ does not change the mean of "
    "$g$, and find the $b$ for which the variance, summed over the entries of $g$, is smallest.",
    hints=(
        "What is the mean of e_i, if i is drawn with probability p_i?",
        "The summed variance is the mean of the squared length minus the squared length of the mean. Which of these "
        "two depends on b?",
        "What depends on b is a parabola in b that opens upwards; set its derivative to zero and solve for b.",
    ),
    proof=r"""Write $\mathbb{E}$ for the mean over the draw $i$, and $g_i = (R_i - b)\,u_i$.

1. $\mathbb{E}[e_i] = \sum_i p_i e_i = p$, so $\mathbb{E}[u_i] = p - p = 0$.
2. Hence $\mathbb{E}[g_i] = \mathbb{E}[R_i u_i] - b\,\mathbb{E}[u_i] = \mathbb{E}[R_i u_i]$, whatever $b$ is.
3. The variance summed over the entries is $\mathbb{E}\lVert g_i \rVert^2 - \lVert \mathbb{E}[g_i] \rVert^2$. By 2 the
   second term does not contain $b$, so only $f(b) = \mathbb{E}\left[(R_i - b)^2 \lVert u_i \rVert^2\right]$ matters.
4. $f$ is a parabola: $f'(b) = -2\,\mathbb{E}\left[(R_i - b) \lVert u_i \rVert^2\right]$ and
   $f''(b) = 2\,\mathbb{E}\lVert u_i \rVert^2$. The latter is positive, because $u_i = 0$ only where $p_i = 1$, and
   with finite scores and two or more keys no weight is one.
5. $f'(b) = 0$ gives the one minimum

   $$b^* = \frac{\mathbb{E}\left[R_i \lVert u_i \rVert^2\right]}{\mathbb{E}\lVert u_i \rVert^2},
   \qquad \lVert u_i \rVert^2 = 1 - 2 p_i + \sum_j p_j^2. \quad ∎$$

It is the mean reward, each key counted with the squared length of its $u_i$: a rare key, whose $u_i$ is long, counts
more. It equals $\mathbb{E}[R_i]$ if all $u_i$ are equally long, as they are with even weights. With weights 1/4 and
3/4 and rewards 4 and 0, the mean reward is 1 and the best baseline is 3.""",
    rubric=(
        "I showed that the mean of e_i - p is zero, and that b drops out of the mean of g.",
        "I wrote the summed variance as a mean square minus a squared mean, and said which part depends on b.",
        "I found the b at which the derivative is zero, and said why it is a minimum.",
        "I saw that it is a mean reward weighted by the squared lengths of e_i - p, and so in general not E[R].",
    ),
    commentary="The mean reward is the usual choice because a running average of the rewards is all it takes.",
)


def straight_through(S, V, index, dO):
    """The drawn values, and the gradient by the scores as if the weights themselves had been used."""
    S = S.detach().requires_grad_()
    P = S.softmax(dim=-1)
    hit = torch.nn.functional.one_hot(index, P.shape[-1]).to(P.dtype)
    weights = hit + P - P.detach()
    O = weights @ V
    (dS,) = torch.autograd.grad(O, S, dO)
    return O, dS


def straight_reference(S, V, index, dO):
    from attnlib.reference import hard

    O, cache = hard.straight_through_attention(S.numpy(), V.numpy(), index.numpy())
    return torch.from_numpy(O), torch.from_numpy(
        hard.straight_through_attention_backward(dO.numpy(), cache)[0]
    )


def straight_cases(rng):
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


straight = CodeExercise(
    id="foundations.straight-through",
    title="Hard forwards, soft backwards",
    kind="write",
    level=3,
    minutes=15,
    page=PAGE,
    task="In PyTorch: key `index` (..., m) was drawn for each query from the softmax of S (..., m, n). Return the "
    "drawn rows of V (..., n, d_v), and the gradient by S for the output gradient dO (..., m, d_v) as if the "
    "softmax weights had multiplied V. Let autograd compute it, through one array of weights that is one-hot forwards.",
    hints=(
        "`detach()` gives the same numbers as a constant, with no way back. Which sum of a constant and P has the "
        "numbers of the constant and the slope of P?",
        "Add to the one-hot rows something whose value is zero and whose derivative by P is one.",
        "One-hot rows, plus the softmax weights, minus a detached copy of the same weights; multiply that with V, and "
        "ask `torch.autograd.grad` for the derivative by a copy of S that requires it.",
    ),
    commentary="P - P.detach() is zero in numbers, but only its first half has a derivative. In NumPy you would "
    "write the two directions as two functions; in PyTorch one line of the forward decides what the backward sees. "
    "If the loss is not linear in the output, this gradient is biased.",
    prerequisites=("foundations.softmax-backward",),
    needs=("torch",),
    solution=straight_through,
    reference=straight_reference,
    cases=straight_cases,
    returns=("O", "dS"),
    variants=(
        straight_by_hand,
        {"hit + P - P.detach()": "(hit - P).detach() + P"},
    ),
    mistakes=(
        Mistake(
            "no way back",
            "The output is right, but its gradient is zero: nothing that has a derivative by P is left in the weights.",
            {"hit + P - P.detach()": "hit + P - P"},
        ),
        Mistake(
            "the wrong one is detached",
            "The gradient has the wrong sign: the P that is added was cut off, and the one that is subtracted was not.",
            {"hit + P - P.detach()": "hit + P.detach() - P"},
        ),
        Mistake(
            "soft forwards",
            "These are averages of all values; forwards, only the drawn value should come through.",
            {"hit + P - P.detach()": "P"},
        ),
        Mistake(
            "P was not taken away again",
            "The output is the drawn value plus the average of all: what was added has to be taken away, detached.",
            {"hit + P - P.detach()": "hit + P"},
        ),
        Mistake(
            "one-hot times P",
            "Only the drawn key keeps its weight, and that weight is less than one.",
            {"hit + P - P.detach()": "hit * P"},
        ),
        Mistake(
            "only the drawn key answers",
            "The output is right, but going back, only the drawn weight was seen; every key's weight has a slope here.",
            {"hit + P - P.detach()": "hit + hit * (P - P.detach())"},
        ),
        Mistake(
            "the largest weight, not the draw",
            "The key of the largest weight was taken; `index` says which key was drawn.",
            {"one_hot(index,": "one_hot(P.argmax(dim=-1),"},
        ),
        Mistake(
            "dO is not used",
            "The entries of the output were summed up: each counts with its entry of dO.",
            {"grad(O, S, dO)": "grad(O.sum(), S)"},
        ),
        Mistake(
            "the softmax is missing on the way back",
            "This is the gradient by the weights; the scores lie before the softmax.",
            {"grad(O, S, dO)": "grad(O, P, dO)"},
            {"P = S.softmax(dim=-1)": "P = S * 1"},
        ),
    ),
)
