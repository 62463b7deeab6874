r"""A single coordinate means nothing

prove · ★★ · 15 min · 02-self-attention/1-a-sequence-attends-to-itself · after self-attention.other-basis

Prove that for any invertible $B$ the projections $W_Q B$ and $W_K B^{-\top}$ give the same weights for
every input, and that the coordinates of the queries can therefore be anything that an invertible map makes
of them. Then say what is left that does have a meaning.

1. Write one score as a product of four matrices, from the query's token to the key's token.
2. What do $B$ and the transpose of $B^{-\top}$ give when they meet in the middle?
3. If two networks agree on all inputs, no experiment on inputs and outputs can tell them apart. What do
   they share?

This is why a figure that names a coordinate of a query "tense" or "movement" needs an experiment, and why
the scores need none.
"""

PROOF = r"""Let $X$ hold the tokens as rows, $Q = X W_Q$, $K = X W_K$, and let $B$ be invertible.

1. The new scores are $X W_Q B \, (X W_K B^{-\top})^\top = X W_Q B B^{-1} W_K^\top X^\top = X W_Q W_K^\top X^\top$,
   which are the old ones, for every $X$. The width $d_k$ is the same, hence the scaled scores are too.
2. Equal scores have equal softmax, so the weights agree; the values were not touched, so the outputs agree.
3. The new queries are $Q B$. Given any query $q \neq 0$ and any vector $u \neq 0$ there is an invertible $B$ with
   $q B = u$: complete $q$ and $u$ to bases and map one onto the other. In that network the coordinates of the same
   token's query are those of $u$.
4. So a statement about one coordinate of a query is true in one of these networks and false in another, although
   they compute the same function. What all of them share is the product $W_Q W_K^\top$: its rank, and the score
   that it gives to each pair of tokens. ∎

A regulariser, an optimiser or a low-precision format may prefer one basis. That is a property of the training, and
has to be shown for the trained network in question."""
RUBRIC = (
    "I wrote the new scores and showed that B and its inverse cancel, for every input.",
    "I went on from scores to weights to outputs.",
    "I showed that a given query can be turned into any other nonzero vector by some B.",
    "I named the product of the two projections (or the scores) as what keeps a meaning.",
)
