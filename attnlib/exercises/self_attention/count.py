"""Count the multiplications

write · ★ · 8 min · 02-self-attention/4-what-it-costs

n tokens of width d; queries, keys, values and the output projection are all (d, d). Return the number of
multiply-adds of the four projections, and of the two products with n by n matrices, as two integers.

1. A product of (a, b) with (b, c) takes a times b times c multiply-adds.
2. The projections are (n, d) times (d, d), four times. Which two products have an (n, n) matrix in them?
3. Scores: (n, d) times (d, n). Output: (n, n) times (n, d).

The two are equal at n = 2d. Below that the projections cost more than the part that everybody calls
quadratic.
"""


def multiply_adds(n, d):
    """(projections, attention): multiply-adds of self-attention of width d with an output projection."""
    projections = 4 * n * d * d
    attention = 2 * n * n * d
    return projections, attention


def cases(rng):
    return {
        "six tokens of width 4": (6, 4),
        "n equal to d": (5, 5),
        "a base model, one sentence": (100, 512),
        "a long text": (10_000, 512),
    }


RETURNS = ("count of the projections", "count of the products")
VARIANTS = r"""
    4 * n * d * d => n * (4 * d**2) ;; 2 * n * n * d => sum(n * d * n for _ in range(2))
    projections = 4 * n * d * d\n => projections = sum([n * d * d] * 4)\n
"""
MISTAKES = """
the output projection is missing | Three projections were counted; the output has one too.
    4 * n => 3 * n
the scores alone | The scores take n n d multiply-adds, and averaging the values as many again.
    2 * n * n * d => n * n * d
additions counted apart | These are operations. One multiply-add is a multiplication and an addition: count
  it once.
    4 * n * d * d => 8 * n * d * d ;; 2 * n * n * d => 4 * n * n * d
n cubed | There are n n pairs, and each costs d multiply-adds, not n.
    2 * n * n * d => 2 * n * n * n
the width of a pair was forgotten | A score adds up d products. There are as many scores as pairs, each of
  them d multiply-adds.
    2 * n * n * d => 2 * n * n
projections of pairs | A projection acts on each token, not on each pair.
    4 * n * d * d => 4 * n * n * d
n and d are exchanged | The projections are quadratic in the width, the attention in the number of tokens.
    4 * n * d * d => 4 * d * n * n ;; 2 * n * n * d => 2 * d * d * n
the two are swapped | First come the projections, then the two products with n by n matrices.
    return projections, attention => return attention, projections
"""
