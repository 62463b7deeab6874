"""GPT-2's attention, loaded wrongly

repair · ★★ · 10 min · 04-transformer/8-somebody-elses-weights

Attention of a GPT-2 layer, straight from the file: gain and shift of `ln_1` (d,), C (d, 3 d) and c (3 d,) of `c_attn`,
W (d, d) and b (d,) of `c_proj`; X is (n, d). The result should be X plus the output of causal attention that reads X
through the norm. The function runs without an error, and its output is not that of GPT-2. Two lines are wrong; repair
both.

1. Which lines would also run if they were wrong? Look at what does not change any shape.
2. Where is eps added in a layer norm? In which order does `c_attn` make its three parts?
3. eps belongs to the variance, under the root, and the columns are queries, keys, values.

The first fault moves the scores in the third digit or less and no loss would show it; the second ruins the model. Both
pass every check of names and shapes.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn
from attnlib.exercises.kit.given import softmax


def attention(X, gain, shift, C, c, W, b, n_heads, eps):
    """X plus what attention says of its norm."""
    n, d = X.shape
    centred = X - X.mean(axis=-1, keepdims=True)
    size = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + eps)
    N = gain * centred / size + shift
    Q, K, V = np.split(N @ C + c, 3, axis=-1)
    heads = []
    for h in np.split(np.arange(d), n_heads):
        S = Q[:, h] @ K[:, h].T / np.sqrt(len(h))
        S = np.where(np.tri(n, dtype=bool), S, -np.inf)
        P = np.exp(S - S.max(axis=-1, keepdims=True))
        heads.append(P / P.sum(axis=-1, keepdims=True) @ V[:, h])
    return X + np.concatenate(heads, axis=-1) @ W + b


def all_heads_at_once(X, gain, shift, C, c, W, b, n_heads, eps):
    n, d = X.shape
    N = (X - X.mean(axis=1)[:, None]) / np.sqrt(X.var(axis=1) + eps)[:, None] * gain + shift
    Q, K, V = (N @ C + c).reshape(n, 3, n_heads, d // n_heads).transpose(1, 2, 0, 3)
    S = Q @ K.swapaxes(1, 2) / (d // n_heads) ** 0.5 + np.triu(np.full((n, n), -1e30), k=1)
    return X + (softmax(S) @ V).swapaxes(0, 1).reshape(n, d) @ W + b


def token_by_token(X, gain, shift, C, c, W, b, n_heads, eps):
    d = X.shape[1]
    d_k = d // n_heads
    N = [gain * (x - x.mean()) / np.sqrt(x.var() + eps) + shift for x in X]
    made = np.array([row @ C + c for row in N])
    Y = []
    for i, x in enumerate(X):
        said = []
        for h in range(n_heads):
            mine = slice(h * d_k, (h + 1) * d_k)
            q, K, V = made[i, :d][mine], made[: i + 1, d : 2 * d][:, mine], made[: i + 1, 2 * d :][:, mine]
            said.append(softmax(K @ q / np.sqrt(d_k)) @ V)
        Y.append(x + np.concatenate(said) @ W + b)
    return np.array(Y)


def cases(rng):
    def parts(n, d, n_heads, eps=1e-5):
        return (*drawn(rng, (n, d), d, d, (d, 3 * d), 3 * d, (d, d), d), n_heads, eps)

    X, *rest = parts(3, 4, 2)
    return {
        "three tokens": parts(3, 4, 2, eps=0.1),
        "two heads of three": parts(4, 6, 2),
        "vectors of little spread": (X / 100, *rest),
        "one head": parts(3, 2, 1, eps=0.3),
    }


GIVEN = ("eps outside the root", "keys first")
VARIANTS = (all_heads_at_once, token_by_token)
MISTAKES = (
    Mistake("eps outside the root", "eps is added to the standard deviation. It belongs to the variance, under the "
        "root.",
        {"np.sqrt((centred**2).mean(axis=-1, keepdims=True) + eps)":
             "(np.sqrt((centred**2).mean(axis=-1, keepdims=True)) + eps)"}),
    Mistake("keys first", "The columns of C are read as keys, queries, values. GPT-2 has the queries first.",
        {"Q, K, V = np.split": "K, Q, V = np.split"}),
    Mistake("keys and values exchanged", "The columns of C are read as queries, values, keys.",
        {"Q, K, V = np.split": "Q, V, K = np.split"}),
    Mistake("values first", "The columns of C are read as values, keys, queries.",
        {"Q, K, V = np.split": "V, K, Q = np.split"}),
    Mistake("transposed map", "W is transposed. The file stores its maps as (in, out), so that X W needs no transpose.",
        {"@ W + b": "@ W.T + b"}),
    Mistake("cut head by head", "The columns were cut into heads before they were cut into three.",
        {"Q, K, V = np.split(N @ C + c, 3, axis=-1)":
             "Q, K, V = (N @ C + c).reshape(n, n_heads, 3, -1).transpose(2, 0, 1, 3).reshape(3, n, d)"}),
    Mistake("the mask is missing", "A token sees what comes later.",
        {"np.where(np.tri(n, dtype=bool), S, -np.inf)": "S"}),
    Mistake("the mask is transposed", "A token sees what comes later, and not what came before.",
        {"np.tri(n, dtype=bool)": "np.tri(n, dtype=bool).T"}),
    Mistake("no residual connection", "The input is not in the sum.", {"return X +": "return"}),
    Mistake("the normed vectors in the sum", "The sum starts from the normed vectors: the stream is lost.",
        {"return X +": "return N +"}),
    Mistake("no scale", "The scores are not divided by the root of d_k.", {"/ np.sqrt(len(h))": ""}),
    Mistake("the bias of the output is missing", "b is not added.", {"@ W + b": "@ W"}),
    Mistake("the bias of the three is missing", "c is not added.", {"N @ C + c": "N @ C"}),
)  # fmt: skip
