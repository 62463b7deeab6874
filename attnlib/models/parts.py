"""The parts of a transformer by the names that a config gives them, and the stack of blocks made of them.

Book: Chapter 4. The tables are where a model is varied: another mixer, another feed-forward network or another bias on
the scores is a function and a row, and no `forward` has a branch for it. A row takes the config and returns the part.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from torch import nn

from attnlib import rules
from attnlib.nn.block import BlockStack
from attnlib.nn.delta_rule import DeltaRule
from attnlib.nn.latent import LatentAttention
from attnlib.nn.linear_attention import LinearAttention
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.nn.positional import (
    IndexPositions,
    LearnedPositions,
    NoPositions,
    NormalisedIndexPositions,
    PartlyRotary,
    Rotary,
    SinusoidalPositions,
)
from attnlib.nn.relative import Alibi, OffsetBias, clipped, t5_buckets
from attnlib.nn.state_space import StateSpace
from attnlib.nn.transformer import ACTIVATIONS, Block, FeedForward

if TYPE_CHECKING:
    from attnlib.models.config import ModelConfig

Part = Callable[["ModelConfig"], Any]


# Positions: what is added to the tokens' vectors, and what rotates queries and keys.


def no_rotation(config: "ModelConfig") -> None:
    """Queries and keys stay as they are."""


def rotation(config: "ModelConfig") -> Rotary:
    """All coordinates of a head; of a latent layer those that are rotated, which stand apart there."""
    d_k = config.d_k or config.d_model // config.n_heads
    width = config.d_rotated or d_k if "latent" in config.pattern else d_k
    return Rotary(width, context=config.context, base=config.base, layout=config.layout or "")


def part_rotation(config: "ModelConfig") -> PartlyRotary:
    """The first coordinates of each head."""
    return PartlyRotary(
        config.d_rotated or 0, context=config.context, base=config.base, layout=config.layout or ""
    )


POSITIONS: dict[str, tuple[type[nn.Module], Part]] = {
    "learned": (LearnedPositions, no_rotation),
    "rotary": (NoPositions, rotation),
    "none": (NoPositions, no_rotation),
    "sinusoids": (SinusoidalPositions, no_rotation),
    "index": (IndexPositions, no_rotation),
    "normalised": (NormalisedIndexPositions, no_rotation),
    "partly rotary": (NoPositions, part_rotation),
}


def positions_of(config: "ModelConfig") -> nn.Module:
    """What tells a token's vector where it stands."""
    added, _ = POSITIONS[config.positions]
    return added(config.context, config.d_model)


# Biases on the scores, one number for each distance.


def offsets(config: "ModelConfig") -> OffsetBias:
    """A learned number for each distance up to `farthest`."""
    return OffsetBias(config.n_heads, 2 * config.farthest + 1, partial(clipped, most=config.farthest))


def t5(config: "ModelConfig") -> OffsetBias:
    """A learned number for each of T5's 32 rows."""
    rows = partial(t5_buckets, buckets=32, farthest=config.farthest, both=not config.causal)
    return OffsetBias(config.n_heads, 32, rows)


SCORE_BIASES: dict[str, Part] = {
    "none": lambda config: None,
    "alibi": lambda config: Alibi(config.n_heads),
    "offsets": offsets,
    "t5": t5,
}

# Norms.

NORMS: dict[str, Callable[..., nn.Module]] = {
    "layer": nn.LayerNorm,
    "rms": nn.RMSNorm,
    "none": nn.Identity,
}


def norm_of(config: "ModelConfig") -> Callable[[int], nn.Module]:
    return partial(NORMS[config.norm], eps=config.eps)


# Orders: the order of a block, and whether a norm stands before each sublayer, and after it before the sum.

ORDERS: dict[str, tuple[str, bool, bool]] = {
    "pre": ("pre", True, False),
    "post": ("post", True, False),
    "without residual": ("without residual", True, False),
    "after": ("pre", False, True),
    "sandwich": ("pre", True, True),
}


def norms_of(config: "ModelConfig") -> dict[str, Any]:
    """The order of a block and its norms, as `Block` takes them."""
    order, before, after = ORDERS[config.order]
    norm = norm_of(config)
    return {
        "order": order,
        "norm": norm if before else nn.Identity,
        "norm_after": norm if after else None,
    }


def last_norm_of(config: "ModelConfig") -> nn.Module:
    """The norm before the scores; after a post-norm block there is none, because the block ends with one."""
    return nn.Identity() if config.order == "post" else norm_of(config)(config.d_model)


# Sublayers: a mixer carries information from position to position, a feed-forward network works on each alone.


def attention(config: "ModelConfig", causal: bool, window: int | None = None) -> MultiHeadAttention:
    return MultiHeadAttention(
        d_model=config.d_model,
        n_heads=config.n_heads,
        n_kv_heads=config.n_kv_heads,
        d_k=config.d_k,
        bias=config.bias,
        causal=causal,
        window=window,
        dropout=config.dropout,
        norm=norm_of(config) if config.qk_norm else None,
    )


def latent(config: "ModelConfig") -> LatentAttention:
    """One latent for each token instead of keys and values."""
    return LatentAttention(
        d_model=config.d_model,
        n_heads=config.n_heads,
        d_latent=config.d_latent or 0,
        d_rotated=config.d_rotated or 0,
        d_k=config.d_k,
        bias=config.bias,
        causal=config.causal,
        norm=norm_of(config),
    )


def with_state(config: "ModelConfig", layer: Callable[..., nn.Module], **more: Any) -> dict[str, nn.Module]:
    """A layer that keeps a state: it reads from left to right, and needs no positions, because it writes in order."""
    rules.must(
        config.causal,
        "ModelConfig",
        f"a layer with a state reads from left to right, so causal must be True; got mixer={config.mixer!r}.",
    )
    sizes = {"d_model": config.d_model, "n_heads": config.n_heads, "bias": config.bias}
    return {"state": layer(**sizes, norm=norm_of(config), **more)}


def written(config: "ModelConfig", layer: Callable[..., nn.Module], **more: Any) -> dict[str, nn.Module]:
    """A layer that writes keys and values into its state, in the form of today: a decay, a convolution and a gate."""
    form = {"d_k": config.d_k, "decay": "learned", "conv": config.conv, "gate": config.output_gate}
    return with_state(config, layer, **form, **more)


def dense(config: "ModelConfig") -> FeedForward:
    return FeedForward(
        d_model=config.d_model,
        d_hidden=config.d_hidden or 4 * config.d_model,
        activation=config.activation,
        gated=config.gated,
        bias=config.bias,
        dropout=config.dropout,
    )


# A mixer under the name of its kind of sublayer, see `attnlib.nn.transformer.SUBLAYERS` and `CACHES`.
# "attention" is the word for all layers of a model alike, in the window that its config may have.
MIXERS: dict[str, Part] = {
    "attention": lambda config: {"attention": attention(config, config.causal)},
    "full": lambda config: {"attention": attention(config, config.causal)},
    "window": lambda config: {"attention": attention(config, config.causal, config.window)},
    "linear": partial(written, layer=LinearAttention, feature_map="none", normalised=False),
    "delta": partial(written, layer=DeltaRule),
    "state space": lambda config: with_state(config, StateSpace, width=config.conv or 1),
    "latent": lambda config: {"attention": latent(config)},
    "none": lambda config: {},
}
FEED_FORWARDS: dict[str, Part] = {"dense": dense, "none": lambda config: None}
PARTS: dict[str, Any] = {
    "positions": POSITIONS,
    "score_bias": SCORE_BIASES,
    "norm": NORMS,
    "order": ORDERS,
    "mixer": MIXERS,
    "feed_forward": FEED_FORWARDS,
    "activation": ACTIVATIONS,
}


def block_of(config: "ModelConfig", layer: int = 0) -> Block:
    """One layer: its mixer, attention to a source where there is one, and its feed-forward network."""
    return Block(
        **MIXERS[config.mixers[layer]](config),
        cross=attention(config, causal=False) if config.cross else None,
        feed_forward=FEED_FORWARDS[config.feed_forward](config),
        dropout=config.dropout,
        **norms_of(config),
    )


def stack_of(config: "ModelConfig") -> BlockStack:
    """The blocks, and what all of them share."""
    _, rotate = POSITIONS[config.positions]
    window = None if "window" in config.pattern else config.window  # layers of that name have their own
    after = 0 if config.causal else window
    return BlockStack(
        [block_of(config, layer) for layer in range(config.n_layers)],
        rotate=rotate(config),
        score_bias=SCORE_BIASES[config.score_bias](config),
        window=None if window is None else (window, after or 0),
    )
