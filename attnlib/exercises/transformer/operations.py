"""The operations of one step

write · ★★ · 10 min · 04-transformer/9-what-it-costs

Count the floating-point operations of one training step, forward and backward, for b texts of n tokens: a GPT with
n_layers blocks of width d, each with 12 d² numbers in its matrices, and a tied table of vocab vectors that makes the
scores. A multiplication and an addition are two operations. Attention's scores and its average are counted for all n
by n pairs; norms, biases and the activation function are left out. Return the number of operations.

1. Forward, each token is multiplied with each number of each matrix once. Looking up a vector is no multiplication.
2. In each block each pair of tokens costs 2 d multiply-adds: d for the score, d for the average.
3. Backward makes two products for each one of forward. Then two operations for each multiply-add.

For short texts this is the rule of six operations for each parameter and token. The term with n² adds to it a share
of n / (6 d), leaving the table out: a sixth at n = d.
"""

from attnlib.exercises.engine.model import Mistake


def operations(b, n, n_layers, d, vocab):
    """Floating-point operations of one training step."""
    maps = n * (12 * n_layers * d**2 + vocab * d)
    mixing = n_layers * 2 * n**2 * d
    return 2 * 3 * b * (maps + mixing)


def one_token_at_a_time(b, n, n_layers, d, vocab):
    per_token = 12 * n_layers * d * d + d * vocab + 2 * n_layers * n * d
    forward = 2 * per_token
    backward = 4 * per_token
    return b * n * (forward + backward)


def cases(rng):
    return {
        "one layer, three tokens": (1, 3, 1, 2, 5),
        "two texts": (2, 5, 3, 7, 11),
        "a long text": (1, 1000, 2, 4, 6),
        "a small GPT": (8, 256, 4, 256, 512),
    }


VARIANTS = (one_token_at_a_time, {"return 2 * 3 * b * (maps + mixing)": "return b * (6 * maps + 6 * mixing)"})
MISTAKES = (
    Mistake("multiply-adds, not operations", "This counts a multiplication and its addition as one. They are two "
        "operations.", {"return 2 * 3 * b": "return 3 * b"}),
    Mistake("forward alone", "The gradients are missing: backward makes two products for each one of forward.",
        {"return 2 * 3 * b": "return 2 * b"}),
    Mistake("backward as often as forward", "Backward has two products where forward has one: the gradient of the "
        "input, and that of the matrix.", {"return 2 * 3 * b": "return 2 * 2 * b"}),
    Mistake("scores and averages are missing", "Scores and averages have no parameters, but they are operations, too.",
        {"(maps + mixing)": "maps"}),
    Mistake("scores alone, or half of the pairs", "Attention multiplies twice for each pair, for the score and for the "
        "average of the values, and all n by n pairs are counted. This is half of it.",
        {"n_layers * 2 * n**2": "n_layers * n**2"}),
    Mistake("the table is not multiplied with", "The tied table makes the scores: every token is multiplied with all "
        "of it.", {"12 * n_layers * d**2 + vocab * d": "12 * n_layers * d**2"}),
    Mistake("the table is counted twice", "Looking a vector up is no multiplication: only the scores multiply with "
        "the table.", {"vocab * d": "2 * vocab * d"}),
    Mistake("the feed-forward matrices are forgotten", "Only attention's matrices were counted, 4 d² of the 12 d² of a "
        "block.", {"12 * n_layers": "4 * n_layers"}),
    Mistake("scores and averages of one text", "Each of the b texts has its own n by n pairs: scores and averages are "
        "counted for every text of the batch.", {"b * (maps + mixing)": "(b * maps + mixing)"}),
    Mistake("one text only", "There are b texts.", {"2 * 3 * b *": "2 * 3 *"}),
    Mistake("attention across texts", "A token attends only to its own text: the pairs grow with b, not with its "
        "square.",
        {"mixing = n_layers * 2 * n**2 * d": "mixing = n_layers * 2 * b * n**2 * d"}),
)  # fmt: skip
