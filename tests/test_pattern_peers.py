"""Published sparse layers with random weights are masked dense attention (Chapter 6): Longformer, BigBird, gpt-oss."""

import math

import numpy as np
import pytest
import torch

from attnlib.nn import patterns as nn_patterns
from attnlib.nn.attention import attend, scaled_dot_product_attention
from attnlib.nn.scores import scaled_dot_scores
from attnlib.reference import patterns


def filled(module, seed=0):
    """The module in float64 with every parameter random: a bias of zero would hide that it was forgotten."""
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.double().parameters():
            drawn = torch.randn(parameter.shape, generator=draw, dtype=torch.float64)
            parameter.copy_(drawn / math.sqrt(parameter.shape[-1]))
    return module


def furthest(ours, theirs):
    return float((ours - theirs).detach().abs().max())


def in_heads(X, heads):
    return X.unflatten(-1, (heads, -1)).transpose(-3, -2)


def merged(O):
    return O.transpose(-3, -2).flatten(-2)


@pytest.mark.parametrize("tokens", [(), (3, 20)], ids=["window", "window and global tokens"])
def test_longformer_is_masked_dense_attention(tokens, monkeypatch):
    """A global token has projections of its own for its row; every other row has its column as any other key."""
    from transformers.models.longformer import modeling_longformer as theirs

    n, heads, side = 32, 2, 4
    config = theirs.LongformerConfig(
        hidden_size=8,
        num_attention_heads=heads,
        attention_window=[2 * side],
        attention_probs_dropout_prob=0.0,
    )
    layer = filled(theirs.LongformerSelfAttention(config, 0)).eval()
    X = torch.randn(2, n, 8, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    marks = torch.zeros(2, n, dtype=torch.float64)
    marks[:, list(tokens)] = 10000.0
    call = {"attention_mask": marks, "is_index_masked": marks < 0}
    call |= {"is_index_global_attn": marks > 0, "is_global_attn": bool(tokens)}
    rule = nn_patterns.either(nn_patterns.window(side + 1, causal=False), nn_patterns.global_tokens(tokens))
    mask = nn_patterns.dense_mask(rule, n)

    def ours(Q, K, V):
        heads_of = (in_heads(map_(X), heads) for map_ in (Q, K, V))
        return merged(scaled_dot_product_attention(*heads_of, mask))

    O = ours(layer.query, layer.key, layer.value)
    O[:, list(tokens)] = ours(layer.query_global, layer.key_global, layer.value_global)[:, list(tokens)]
    assert 0 < furthest(O, layer(X, **call)[0]) < 1e-6  # theirs rounds the softmax to float32
    softmax = torch.nn.functional.softmax
    monkeypatch.setattr(torch.nn.functional, "softmax", lambda S, dim, dtype=None: softmax(S, dim))
    assert furthest(O, layer(X, **call)[0]) < 1e-12
    one_wider = nn_patterns.dense_mask(nn_patterns.window(side + 2, causal=False), n)
    assert not torch.equal(mask, one_wider)


class BigBird:
    """The block-sparse layer of Hugging Face, 12 blocks of 4, two random blocks in each row."""

    block, count, heads, random = 4, 12, 2, 2
    n = block * count

    def __init__(self):
        from transformers.models.big_bird import modeling_big_bird as theirs

        config = theirs.BigBirdConfig(
            hidden_size=8,
            num_attention_heads=self.heads,
            block_size=self.block,
            num_random_blocks=self.random,
            max_position_embeddings=self.n,
            use_bias=True,
        )
        self.layer = filled(theirs.BigBirdBlockSparseAttention(config, seed=3))
        self.masks = theirs.BigBirdModel.create_masks_for_block_sparse_attn
        self.X = torch.randn(2, self.n, 8, generator=torch.Generator().manual_seed(1), dtype=torch.float64)

    def __call__(self):
        from_blocks, band, from_mask, to_mask = self.masks(
            torch.ones(2, self.n, dtype=torch.float64), self.block
        )
        state = np.random.get_state()
        try:
            return self.layer(self.X, band, from_mask, to_mask, from_blocks, from_blocks)
        finally:
            np.random.set_state(state)

    def drawn(self):
        """The random blocks of each head in each row but the first and the last, from NumPy's own generator."""
        state = np.random.get_state()
        np.random.seed(self.layer.seed)
        try:
            plan = self.layer._get_rand_attn_plan(self.n, self.block, self.random)
            found = self.layer._bigbird_block_rand_mask_with_head(
                self.n, self.n, *[self.block] * 2, self.heads, *plan
            )
        finally:
            np.random.set_state(state)
        return np.stack(found)

    def heads_of(self):
        return [
            in_heads(map_(self.X), self.heads)
            for map_ in (self.layer.query, self.layer.key, self.layer.value)
        ]


@pytest.fixture
def big_bird():
    return BigBird()


def window_and_global(count):
    """Of blocks: the nearest three, and the first and the last as rows and columns."""
    return patterns.either(patterns.window(2, causal=False), patterns.global_tokens((0, count - 1)))


def test_big_bird_in_training_is_masked_dense_attention(big_bird):
    big_bird.layer.train()
    fixed = patterns.dense_mask(window_and_global(big_bird.count), big_bird.count)
    tables = np.stack([fixed] * big_bird.heads)
    for table, rows in zip(tables, big_bird.drawn(), strict=True):
        for i, chosen in enumerate(rows, start=1):
            assert (
                not table[i, chosen].any() and len({*chosen}) == big_bird.random
            )  # nothing is counted twice
            table[i, chosen] = True
    masks = [
        nn_patterns.dense_mask(nn_patterns.block_table(torch.tensor(table), big_bird.block), big_bird.n)
        for table in tables
    ]
    assert not torch.equal(*masks)
    O = merged(scaled_dot_product_attention(*big_bird.heads_of(), torch.stack(masks)))
    assert furthest(O, big_bird()[0]) < 1e-12


def test_big_bird_in_evaluation_has_no_random_blocks_but_its_first_block_several_times(big_bird):
    """Every "random" block is block 0 there, so its keys count 1 + 2 times in each softmax of the middle rows."""
    big_bird.layer.eval()
    assert not big_bird.drawn().any()
    rule = window_and_global(big_bird.count)
    mask = nn_patterns.dense_mask(
        lambda query, key: rule(query // big_bird.block, key // big_bird.block), big_bird.n
    )
    Q, K, V = big_bird.heads_of()
    position = torch.arange(big_bird.n) // big_bird.block
    middle = (position > 0) & (position < big_bird.count - 1)
    times = torch.where(middle[:, None] & (position == 0), 1.0 + big_bird.random, 1.0).double()
    O = merged(attend(scaled_dot_scores(Q, K) + times.log(), V, mask))
    theirs = big_bird()[0]
    assert furthest(O, theirs) < 1e-12
    once = merged(attend(scaled_dot_scores(Q, K), V, mask))
    assert furthest(once, theirs) > 0.1  # not simply the pattern without random blocks
    big_bird.layer.train()
    assert furthest(big_bird()[0], theirs) > 0.1


@pytest.mark.parametrize("width", [None, 4])
def test_the_sinks_of_gpt_oss_are_one_more_key_whose_value_is_zero(width):
    from transformers.models.gpt_oss import modeling_gpt_oss as theirs

    n, heads, groups, d = 11, 4, 2, 8
    config = theirs.GptOssConfig(
        hidden_size=16,
        num_attention_heads=heads,
        num_key_value_heads=groups,
        head_dim=d,
        num_hidden_layers=1,
        layer_types=["sliding_attention"],
        attention_bias=True,
    )
    config._attn_implementation = "eager"
    layer = filled(theirs.GptOssAttention(config, 0)).eval()
    X = torch.randn(2, n, 16, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    rule = nn_patterns.causal() if width is None else nn_patterns.window(width)
    mask = nn_patterns.dense_mask(rule, n)
    hidden = torch.zeros(n, n, dtype=torch.float64).masked_fill(~mask, -math.inf)
    unturned = torch.ones(1, n, d // 2, dtype=torch.float64), torch.zeros(1, n, d // 2, dtype=torch.float64)
    expected, P = layer(X, unturned, hidden[None, None])
    maps = (layer.q_proj, heads), (layer.k_proj, groups), (layer.v_proj, groups)
    Q, K, V = (in_heads(map_(X), count) for map_, count in maps)
    K, V = (one.repeat_interleave(heads // groups, dim=1) for one in (K, V))
    # One more coordinate, which every query has and among the keys only the sink: its score is the learned logit.
    wide = math.sqrt((d + 1) / d)
    Q = torch.cat([wide * Q, torch.full_like(Q[..., :1], math.sqrt(d + 1))], dim=-1)
    K = torch.cat([K, torch.zeros_like(K[..., :1])], dim=-1)
    sink = torch.zeros(2, heads, 1, d + 1, dtype=torch.float64)
    sink[..., 0, d] = layer.sinks
    K, V = torch.cat([K, sink], dim=-2), torch.cat([V, torch.zeros_like(V[..., :1, :])], dim=-2)
    seen = torch.cat([mask, torch.ones(n, 1, dtype=torch.bool)], dim=1)
    O = layer.o_proj(merged(scaled_dot_product_attention(Q, K, V, seen)))
    assert furthest(O, expected) < 1e-12
    missing = 1 - P.sum(dim=-1)  # the weight of the sink, which brings nothing
    weights = torch.softmax(scaled_dot_scores(Q, K).masked_fill(~seen, -math.inf), dim=-1)
    assert furthest(missing, weights[..., -1]) < 1e-12 and float(missing.detach().mean()) > 0.1
