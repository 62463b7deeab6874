r"""Shuffle before or after

prove · ★★ · 15 min · 02-self-attention/2-permutation · after self-attention.put-back

Prove that $f(\Pi X) = \Pi f(X)$ for self-attention without mask and positions, where $\Pi$ is any
permutation matrix. Then find the step that fails with a causal mask.

1. Follow $\Pi$ through the steps: what becomes of queries, keys and values?
2. $\Pi$ permutes the rows of the scores, and something permutes their columns. Why may the softmax be taken
   before or after?
3. In the last product a $\Pi^\top$ meets a $\Pi$.

It is the architecture that forgets order, not the training. Positions have to be told, or a mask has to
break the symmetry.
"""

PROOF = r"""Let $Q = X W_Q$, $K = X W_K$, $V = X W_V$, and let $\Pi$ be a permutation matrix, so
$\Pi^\top \Pi = I$.

1. The projections act on each row alone: from $\Pi X$ come $\Pi Q$, $\Pi K$ and $\Pi V$.
2. The scores become $\Pi Q (\Pi K)^\top / \sqrt{d_k} = \Pi S \Pi^\top$: rows and columns are permuted alike.
3. The softmax exponentiates each entry and divides it by the sum of its row. Permuting the columns leaves each row's
   sum as it is; permuting the rows moves whole rows. Hence the weights become $\Pi P \Pi^\top$.
4. The output becomes $\Pi P \Pi^\top \Pi V = \Pi P V = \Pi f(X)$. ∎

With a causal mask $M$ the masked scores would have to become $\Pi (S + M) \Pi^\top$, but the mask stays where it is:
they become $\Pi S \Pi^\top + M$. Step 3 fails unless $\Pi M \Pi^\top = M$, and for the causal mask this holds for the
identity alone, because the number of keys that a row may see tells its position."""
RUBRIC = (
    "I showed that queries, keys and values are permuted as X is, because the maps act on rows.",
    "I showed that rows and columns of the scores are both permuted.",
    "I argued why the softmax commutes: the sum of a row does not depend on its order.",
    "I used that the transpose of the permutation is its inverse in the last product.",
    "I said that a causal mask does not move with the tokens, and where the proof breaks.",
)
