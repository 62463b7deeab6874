"""A lightning indexer: a few small heads score all earlier keys, so that attention computes the k best of them only.

The book derives it in eq-kept-mass, eq-indexer-score and eq-indexer-loss (Chapter 6), after DeepSeek-V3.2 (2025). The
twin with the backwards written out is `attnlib.reference.indexer`. `LightningIndexer` is the module.
"""

import math

import torch
from torch import Tensor, nn

from attnlib import rules
from attnlib.nn.cache import KVCache
from attnlib.nn.heads import split_heads
from attnlib.nn.multihead import Rotate
from attnlib.nn.sparse import top_k_mask
from attnlib.shapes import Bool, Float, Number, checked

WHO = "LightningIndexer"


@checked
def kept_mass(P: Float[Tensor, "*b n"], chosen: Bool[Tensor, "*#b #n"]) -> Float[Tensor, "*b"]:
    """The share of the attention weights that lies on the chosen keys (eq-kept-mass).

    >>> kept_mass(torch.tensor([[0.5, 0.1, 0.4]]), torch.tensor([[True, False, True]]))
    tensor([0.9000])
    """
    return torch.where(chosen, P, 0).sum(dim=-1)  # eq-kept-mass


@checked
def index_mask(
    I: Float[Tensor, "*b m n"], k: Number[int, "1.."], mask: Bool[Tensor, "*#b #m #n"]
) -> Bool[Tensor, "*b m n"]:
    """True at the k keys with the largest index scores, of those that the query may attend to.

    mask    True = may look: later keys are hidden before the choice, because a hidden key would use up one of the k

    >>> I = torch.tensor([[1.0, 9.0, 9.0], [1.0, 2.0, 9.0], [3.0, 1.0, 2.0]])
    >>> index_mask(I, 2, torch.ones(3, 3, dtype=torch.bool).tril()).int()
    tensor([[1, 0, 0],
            [1, 1, 0],
            [1, 0, 1]], dtype=torch.int32)
    """
    return top_k_mask(torch.where(mask, I, -math.inf), min(k, I.shape[-1])) & mask


@checked
def index_scores(
    Q: Float[Tensor, "*b h m d_k"], K: Float[Tensor, "*b n d_k"], w: Float[Tensor, "*b m h"]
) -> Float[Tensor, "*b m n"]:
    """For each query and key the heads' products after a ReLU, weighted and summed (eq-indexer-score).

    K    one key for all heads
    w    the weight of each head, computed from the query's token; it may be negative

    >>> Q, K = torch.tensor([[[1.0, 0.0]], [[0.0, 1.0]]]), torch.tensor([[2.0, -1.0], [-1.0, 3.0]])
    >>> index_scores(Q, K, w=torch.tensor([[10.0, 1.0]]))
    tensor([[20.,  3.]])
    """
    A = (Q @ K[..., None, :, :].mT).relu()  # (*b, h, m, n)
    return (w.mT[..., None] * A).sum(dim=-3)  # eq-indexer-score  (*b, m, n)


@checked
def index_loss(
    I: Float[Tensor, "*b n"], P: Float[Tensor, "*b n"], mask: Bool[Tensor, "*#b #n"]
) -> Float[Tensor, "*b"]:
    """The divergence KL(P || softmax of the index scores) of each row, among the keys of the mask (eq-indexer-loss).

    P       the target: attention weights averaged over the heads; among the keys of the mask they are made to sum to 1.
            It gets no gradient, so the loss does not change the attention that it is made from
    mask    True = compared: what the query may attend to, or later in training the keys that were chosen

    A row without a key, or without weight on its keys, has the loss zero.

    >>> I, mask = torch.tensor([[5.0, 5.0, 9.0]]), torch.tensor([[True, True, False]])
    >>> index_loss(I, torch.tensor([[1.0, 0.0, 0.0]]), mask)  # log 2: half of the softmax is on the right key
    tensor([0.6931])
    """
    target = torch.where(mask, P.detach(), 0)
    total = target.sum(dim=-1, keepdim=True)
    target = target / torch.where(total > 0, total, 1)
    visible = torch.where(mask, I, -math.inf)
    L = torch.where(total > 0, visible, 0).log_softmax(dim=-1)
    there = target > 0
    loss = target * (torch.where(there, target, 1).log() - torch.where(there, L, 0))
    return loss.sum(dim=-1)  # eq-indexer-loss


class LightningIndexer(nn.Module):
    """The index scores of all pairs of tokens, made from what an attention layer reads (eq-indexer-score).

    n_heads, d_k    of the indexer: few and narrow. The heads share one key
    d_query         width of what queries are made from, where it is not X: a latent of the layer's own queries

    Keys pass a layer norm. Weights of the heads are divided by the root of h d_k, which scales all scores alike.

    >>> layer, X, cache = LightningIndexer(d_model=8, n_heads=2, d_k=4), torch.randn(5, 8), KVCache()
    >>> steps = [layer(x[None], kv_cache=cache) for x in X]
    >>> torch.allclose(steps[-1], layer(X)[-1:], atol=1e-6), cache.nbytes  # 5 keys of 4 numbers of 4 bytes
    (True, 80)
    """

    @checked
    def __init__(
        self,
        *,
        d_model: Number[int, "1.."],
        n_heads: Number[int, "1.."],
        d_k: Number[int, "1.."],
        d_query: Number[int, "1.."] | None = None,
    ) -> None:
        super().__init__()
        self.d_model, self.n_heads, self.d_k = d_model, n_heads, d_k
        self.d_query = d_model if d_query is None else d_query
        self.W_Q = nn.Linear(self.d_query, n_heads * d_k, bias=False)
        self.W_K = nn.Linear(d_model, d_k, bias=False)
        self.norm_K = nn.LayerNorm(d_k, eps=1e-6)
        self.W_w = nn.Linear(d_model, n_heads, bias=False)

    def extra_repr(self) -> str:
        """What the printed layer says beside its maps."""
        return ", ".join(f"{name}={getattr(self, name)}" for name in ("d_model", "n_heads", "d_k", "d_query"))

    @checked
    def forward(
        self,
        X: Float[Tensor, "*b m {self.d_model}"],
        X_Q: Float[Tensor, "*b m {self.d_query}"] | None = None,
        rotate: Rotate | None = None,
        kv_cache: KVCache | None = None,
    ) -> Float[Tensor, "*b m n"]:
        """The scores; later keys have some, too: `index_mask` hides them.

        rotate      rotates queries and keys, `rotate(Q, first)`: `PartlyRotary`, in DeepSeek-V3.2 with layout="halves"
        kv_cache    holds the keys of earlier positions; it holds no values, because an indexer has none
        """
        if not torch.compiler.is_compiling():
            rules.dtype_of_the_layer(WHO, X, self.W_K)
        given = X_Q is not None or self.d_query == self.d_model
        rules.must(
            given, WHO, f"X_Q must be given where queries are not made from X; got d_query={self.d_query}."
        )
        Q = split_heads(self.W_Q(X if X_Q is None else X_Q), self.n_heads)
        K = self.norm_K(self.W_K(X))
        if rotate is not None:
            first = 0 if kv_cache is None else kv_cache.length
            Q, K = rotate(Q, first), rotate(K, first)
        if kv_cache is not None:
            K, _ = kv_cache.append(K, K[..., :0])
        w = self.W_w(X) / math.sqrt(self.n_heads * self.d_k)
        return index_scores(Q, K, w)  # eq-indexer-score
