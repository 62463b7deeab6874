"""Label smoothing without a table

write · ★★ · 10 min · 05-training/1-what-is-minimised

With label smoothing the target of a token is a row of V probabilities: epsilon / V for each token, and 1 - epsilon more
for the right one. A table of such rows is not needed: return the mean cross-entropy with these targets in nats from S
(b, n, vocab), targets (b, n), real (b, n), which is False at padding, and epsilon. Make no array of targets with V
columns.

1. Write the smoothed target as a sum of two: the right token alone, and all tokens alike.
2. The loss is linear in the target, so it is a sum of two losses. The second needs only the mean of a row.
3. Log-softmax; of each row what the right token has, and the mean of all; weigh them with 1 - epsilon and epsilon;
   turn the sign; then one mean over the real tokens.

Libraries do this, because a table for 8 texts of 1,000 tokens and 50,000 words has 400 million numbers.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def smoothed_loss(S, targets, real, epsilon):
    """Mean nats; S (b, n, vocab), targets and real (b, n)."""
    top = S.max(axis=-1, keepdims=True)
    log_P = S - top - np.log(np.exp(S - top).sum(axis=-1, keepdims=True))
    right = np.take_along_axis(log_P, targets[..., None], axis=-1)[..., 0]
    L = -(1 - epsilon) * right - epsilon * log_P.mean(axis=-1)
    return L[real].mean()


def with_a_table(S, targets, real, epsilon):
    vocab = S.shape[-1]
    Q = (1 - epsilon) * np.eye(vocab)[targets] + epsilon / vocab
    Z = S - S.max(axis=-1, keepdims=True)
    L = np.log(np.exp(Z).sum(axis=-1)) - (Q * Z).sum(axis=-1)
    return (L * real).sum() / real.sum()


def token_by_token(S, targets, real, epsilon):
    total, tokens = 0.0, 0
    for b, n in np.argwhere(real):
        z = S[b, n] - S[b, n].max()
        rest = np.log(np.exp(z).sum())
        total += rest - (1 - epsilon) * z[targets[b, n]] - epsilon * z.mean()
        tokens += 1
    return total / tokens


def means_of_texts(S, targets, real, epsilon):
    texts = zip(S, targets, real, strict=True)
    return np.mean([smoothed_loss(s[None], t[None], r[None], epsilon) for s, t, r in texts])


def cases(rng):
    def texts(b, n, vocab, length, epsilon, level=0.0):
        (S,) = drawn(rng, (b, n, vocab))
        real = np.arange(n) < np.array(length)[:, None]
        return level + S, rng.integers(0, vocab, (b, n)), real, epsilon

    return {
        "one text without padding": texts(1, 3, 4, [3], 0.2),
        "two texts": texts(2, 5, 4, [5, 3], 0.1),
        "nothing smoothed": texts(2, 3, 5, [3, 2], 0.0),
        "a short text and long ones": texts(3, 7, 5, [2, 7, 6], 0.3),
        "scores around 800": texts(2, 5, 3, [4, 5], 0.1, level=800.0),
        "all sizes equal": texts(4, 4, 4, [4, 2, 3, 4], 0.2),
    }


VARIANTS = (with_a_table, token_by_token)
MISTAKES = (
    Mistake("spread over the others", "The share went to the other V - 1 tokens, and the right one kept 1 - epsilon. "
        "Spread it over all V tokens, the right one among them.",
        {"- epsilon * log_P.mean(axis=-1)": "- epsilon * (log_P.sum(axis=-1) - right) / (S.shape[-1] - 1)"}),
    Mistake("divided by V - 1", "The share was spread over all V tokens, but divided by V - 1: the targets sum to "
        "more than one.", {"epsilon * log_P.mean(axis=-1)": "epsilon * log_P.sum(axis=-1) / (S.shape[-1] - 1)"}),
    Mistake("a mean over padding", "The sum over the real tokens was divided by the number of all positions. Padding "
        "does not count.",
        {"return L[real].mean()": "return (L * real).sum() / real.size"}),
    Mistake("padding is counted", "The loss at the padding was counted, too.",
        {"return L[real].mean()": "return L.mean()"}),
    Mistake("a mean of means", "Each text has its own mean here, and the means are averaged, so a token of a short "
        "text counts more.", means_of_texts),
    Mistake("the share is lost", "The right token has 1 - epsilon, and no token has the rest.",
        {"- epsilon * log_P.mean(axis=-1)": ""}),
    Mistake("the scores were smoothed", "The mean of the scores was taken in place of that of the logarithms of the "
        "probabilities.", {"log_P.mean(axis=-1)": "S.mean(axis=-1)"}),
    Mistake("the probabilities were smoothed", "The model's probabilities were mixed with equal shares. Smooth the "
        "targets.",
        {"L = -(1 - epsilon) * right - epsilon * log_P.mean(axis=-1)":
             "L = -np.log((1 - epsilon) * np.exp(right) + epsilon / S.shape[-1])"}),
    Mistake("a sum", "Return the mean; a sum grows with the batch.",
        {"return L[real].mean()": "return L[real].sum()"}),
    Mistake("no minus", "A loss is minus the log-probability: small when the model is right.",
        {"return L[real].mean()": "return -L[real].mean()"}),
    Mistake("the right one gets no share", "The right token has its part of epsilon, too, since the share is spread "
        "over all V tokens.",
        {"- epsilon * log_P.mean(axis=-1)": "- epsilon / S.shape[-1] * (log_P.sum(axis=-1) - right)"}),
    Mistake("scores in place of logarithms", "These are the scores themselves. They become logarithms of probabilities "
        "when the logarithm of the sum of their exponentials is subtracted.",
        {"log_P = S - top - np.log(np.exp(S - top).sum(axis=-1, keepdims=True))": "log_P = S"}),
    Mistake("the softmax over the positions",
        "The probabilities of a position sum to one over the tokens. Here those of a token do, over the positions.",
        {"top = S.max(axis=-1, keepdims=True)": "top = S.max(axis=1, keepdims=True)",
         "np.exp(S - top).sum(axis=-1, keepdims=True)": "np.exp(S - top).sum(axis=1, keepdims=True)"}),
)  # fmt: skip
