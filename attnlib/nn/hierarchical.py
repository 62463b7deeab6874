"""The twin of `attnlib.reference.hierarchical`: near tokens one by one, and one summary for each chunk before them.

The book derives it in eq-two-levels, eq-level-edges and eq-needle (Chapter 6). All functions are causal, and the
queries are the last positions. Masks are dense here: a kernel that skips what they hide is the tiles' matter
(`attnlib.nn.patterns`).
"""

import math

import torch
from torch import Tensor

from attnlib import rules
from attnlib.nn.attention import attend, scaled_dot_product_attention
from attnlib.nn.sparse import top_k_mask
from attnlib.reference.hierarchical import far_chunks as far_chunks
from attnlib.reference.hierarchical import near_tokens as near_tokens
from attnlib.shapes import Bool, Float, Number, checked


def _both(
    who: str, Q: Tensor, K: Tensor, chunk: int, near: int, summaries: int
) -> tuple[Bool[Tensor, "m n"], Bool[Tensor, "m c"]]:
    """Masks for tokens and for summaries; the queries are the last m of n positions."""
    m, n = Q.shape[-2], K.shape[-2]
    rules.must(m <= n, who, f"the queries are the last of the positions; got m={m} of n={n}.")
    came = f"n={n} tokens with chunk={chunk} have {n // chunk} whole chunks; got {summaries} summaries."
    rules.must(summaries == n // chunk, who, f"there must be one summary for each whole chunk: {came}")
    queries = torch.arange(n - m, n, device=Q.device)[:, None]
    tokens = near_tokens(chunk, near)(queries, torch.arange(n, device=Q.device))
    return tokens, far_chunks(chunk, near)(queries, torch.arange(summaries, device=Q.device))


def _in_chunks(X: Tensor, chunk: int) -> Tensor:
    """(*b, c, chunk, d): the whole chunks."""
    c = X.shape[-2] // chunk
    return X[..., : c * chunk, :].unflatten(-2, (c, chunk))


@checked
def pool_chunks(
    X: Float[Tensor, "*b n d"], Z: Float[Tensor, "*b n d"] | None, chunk: Number[int, "1..n"]
) -> Float[Tensor, "*b c d"]:
    """One summary for each whole chunk: the mean of its tokens, weighted by a softmax of scores (eq-two-levels).

    Z    a score for each coordinate of each token, made from the token: learned pooling. None: the plain mean

    >>> pool_chunks(torch.tensor([[1.0], [3.0], [5.0]]), None, chunk=2)
    tensor([[2.]])
    """
    pieces = _in_chunks(X, chunk)
    if Z is None:
        return pieces.mean(dim=-2)
    return (_in_chunks(Z, chunk).softmax(dim=-2) * pieces).sum(dim=-2)  # eq-two-levels  (*b, c, d)


@checked
def score_bounds(
    Q: Float[Tensor, "*b m d_k"], K: Float[Tensor, "*b n d_k"], chunk: Number[int, "1..n"]
) -> Float[Tensor, "*b m c"]:
    """For each query and whole chunk a number that no score of the chunk's keys exceeds, after Quest (eq-needle)."""
    pieces = _in_chunks(K, chunk)
    low, high = pieces.amin(dim=-2), pieces.amax(dim=-2)  # (*b, c, d_k)
    return (Q.clamp(min=0) @ high.mT + Q.clamp(max=0) @ low.mT) / math.sqrt(Q.shape[-1])


@checked
def two_level_attention(
    Q: Float[Tensor, "*b m d_k"],
    K: Float[Tensor, "*b n d_k"],
    V: Float[Tensor, "*b n d_v"],
    K_far: Float[Tensor, "*b c d_k"],
    V_far: Float[Tensor, "*b c d_v"],
    chunk: Number[int, "1..n"],
    near: Number[int, "1.."] = 1,
    counts_as: Number[float, "0<.."] | None = None,
) -> Float[Tensor, "*b m d_v"]:
    """One softmax over the near tokens and the summaries of the chunks before them (eq-two-levels).

    near         how many chunks are attended to token by token, the query's own included
    counts_as    how many tokens a summary counts as; by default `chunk`, right where the scores of a chunk are equal

    >>> Q, V = torch.zeros(4, 1), torch.tensor([[2.0], [4.0], [9.0], [9.0]])
    >>> K_far, V_far = pool_chunks(Q, None, 2), pool_chunks(V, None, 2)
    >>> two_level_attention(Q, Q, V, K_far, V_far, chunk=2).flatten()
    tensor([2., 3., 5., 6.])
    """
    tokens, summaries = _both("two_level_attention", Q, K, chunk, near, K_far.shape[-2])
    S = Q @ K.mT / math.sqrt(Q.shape[-1])
    S_far = Q @ K_far.mT / math.sqrt(Q.shape[-1]) + math.log(chunk if counts_as is None else counts_as)
    seen = torch.cat([tokens, summaries], dim=-1)
    return attend(torch.cat([S, S_far], dim=-1), torch.cat([V, V_far], dim=-2), seen)  # eq-two-levels


@checked
def coarse_to_fine_attention(
    Q: Float[Tensor, "*b m d_k"],
    K: Float[Tensor, "*b n d_k"],
    V: Float[Tensor, "*b n d_v"],
    S_far: Float[Tensor, "*b m c"],
    k: Number[int, "0..c"],
    chunk: Number[int, "1..n"],
    near: Number[int, "1.."] = 1,
) -> Float[Tensor, "*b m d_v"]:
    """Scores of summaries choose k earlier chunks for each query, whose tokens are then attended to (eq-needle).

    S_far    a score of each whole chunk for each query, such as `Q @ K_far.mT` or `score_bounds`; chunks that are
             near, or not over yet, are not chosen. The choice has no gradient
    """
    tokens, summaries = _both("coarse_to_fine_attention", Q, K, chunk, near, S_far.shape[-1])
    if not k:
        return scaled_dot_product_attention(Q, K, V, tokens)
    best = top_k_mask(torch.where(summaries, S_far, -math.inf), k) & summaries
    whole = best.repeat_interleave(chunk, dim=-1)
    rest = K.shape[-2] - whole.shape[-1]
    return scaled_dot_product_attention(Q, K, V, tokens | torch.nn.functional.pad(whole, (0, rest)))
