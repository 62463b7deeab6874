"""What one block of a language model costs by its choices: parameters, numbers kept a token, multiplications a token.

Book: Chapter 4, the page on the block of today. `attnlib.models.costs` counts whole models of ours; here is the block
with every choice that published models make, and `attnlib.models.open_models` reads those choices from a config.json.
"""

from dataclasses import dataclass, replace

from attnlib import rules


@dataclass(frozen=True)
class BlockChoices:
    """Sizes and choices of one block; the defaults are GPT-2's choices at the width of a model with 7 billion."""

    d_model: int = 4096
    n_heads: int = 32
    n_kv_heads: int = 32  # heads of keys and values; fewer are shared
    d_k: int = 128  # width of a head
    d_hidden: int = 16_384  # width inside the feed-forward network
    gated: bool = False  # three maps in the feed-forward network instead of two
    shift: bool = True  # a norm has a shift beside its gain: a layer norm; False is an RMS norm
    n_norms: int = 2  # one for each sublayer, or with four one before and one after
    bias: bool = True  # of the maps in general
    qkv_bias: bool | None = None  # of the maps to queries, keys and values; None is as `bias`
    out_bias: bool | None = None  # of attention's last map; None is as `bias`
    mlp_bias: bool | None = None  # of the feed-forward network; None is as `bias`
    qk_norm: str = "none"  # one of QK_NORMS
    sinks: bool = False  # a learned score for each head that no token gets
    d_latent: int = 0  # width of a latent instead of keys and values; 0: none
    d_rotated: int = 0  # beside a latent: width of the rotated part of each head
    d_v: int = 0  # beside a latent: width of a head's values; 0 is d_k
    d_query: int = 0  # beside a latent: width of a latent of the queries; 0: none
    n_experts: int = 0  # feed-forward networks to choose from; 0: there is one, and it is always used
    n_used: int = 0  # how many of them each token uses
    n_shared: int = 0  # and how many every token uses beside them
    router_bias: bool = False

    def __post_init__(self) -> None:
        rules.one_of("BlockChoices", "qk_norm", self.qk_norm, QK_NORMS)
        rules.splits_evenly("BlockChoices", "n_heads", self.n_heads, "n_kv_heads", self.n_kv_heads)


QK_NORMS = (
    "none",
    "each head",
    "all heads",
)  # one gain for the heads of a layer, or one for their whole width


def attention(block: BlockChoices) -> int:
    """Parameters of the maps of attention, with biases and sinks.

    >>> attention(BlockChoices(bias=False)) == 4 * 4096**2
    True
    """
    d, queries = block.d_model, block.n_heads * block.d_k
    if block.d_latent:
        return _latent_attention(block)
    keys = block.n_kv_heads * block.d_k
    biases = _with(block.qkv_bias, block) * (queries + 2 * keys) + _with(block.out_bias, block) * d
    return 2 * d * queries + 2 * d * keys + biases + block.sinks * block.n_heads


def _latent_attention(block: BlockChoices) -> int:
    """The maps to the queries, down to the latent and the rotated key, up to keys and values, and to the output."""
    d, h, plain, values = block.d_model, block.n_heads, block.d_k, block.d_v or block.d_k
    wide = h * (plain + block.d_rotated)
    queries = d * block.d_query + block.d_query * wide if block.d_query else d * wide
    return (
        queries
        + d * (block.d_latent + block.d_rotated)
        + block.d_latent * h * (plain + values)
        + h * values * d
    )


def feed_forward(block: BlockChoices, n_networks: int) -> int:
    """Parameters of so many feed-forward networks."""
    maps = (3 if block.gated else 2) * block.d_model * block.d_hidden
    biases = (2 if block.gated else 1) * block.d_hidden + block.d_model
    return n_networks * (maps + _with(block.mlp_bias, block) * biases)


def router(block: BlockChoices) -> int:
    """Parameters that choose the experts."""
    return block.n_experts * (block.d_model + block.router_bias)


def norms(block: BlockChoices) -> int:
    """Gains and shifts: of the block's norms, of queries and keys, and of latents."""
    each = 2 if block.shift else 1
    widths = {
        "none": 0,
        "each head": 2 * block.d_k,
        "all heads": (block.n_heads + block.n_kv_heads) * block.d_k,
    }
    latents = block.d_latent + block.d_query
    return each * (block.n_norms * block.d_model + widths[block.qk_norm] + latents)


def parameters(block: BlockChoices) -> dict[str, int]:
    """How many numbers a block learns, part by part.

    >>> parameters(BlockChoices(d_model=768, n_heads=12, n_kv_heads=12, d_k=64, d_hidden=3072))
    {'attention': 2362368, 'feed-forward': 4722432, 'router': 0, 'norms': 3072}
    """
    return {
        "attention": attention(block),
        "feed-forward": feed_forward(block, (block.n_experts or 1) + block.n_shared),
        "router": router(block),
        "norms": norms(block),
    }


def used(block: BlockChoices) -> int:
    """Parameters that one token meets: all, but of the experts only those that it uses."""
    idle = block.n_experts - block.n_used if block.n_experts else 0
    return sum(parameters(block).values()) - feed_forward(block, idle)


def kept(block: BlockChoices) -> int:
    """Numbers that a cache keeps of each token: keys and values, or a latent and the rotated key.

    >>> kept(BlockChoices()), kept(BlockChoices(n_kv_heads=8)), kept(BlockChoices(d_latent=512, d_rotated=64))
    (8192, 2048, 576)
    """
    return block.d_latent + block.d_rotated if block.d_latent else 2 * block.n_kv_heads * block.d_k


def multiplications(block: BlockChoices, n: int) -> int:
    """Multiply-adds for one new token that attends to n tokens, itself included; norms and rotations are left out.

    With a latent the absorbed form is counted: each head compares and averages latents, and the maps to its keys and
    values act once, on the query and on the average.
    """
    return _maps(block) + n * _for_each_key(block)


def _for_each_key(block: BlockChoices) -> int:
    """For each key and each head a score and a share in the average."""
    if block.d_latent:
        return block.n_heads * (2 * block.d_latent + block.d_rotated)
    return 2 * block.n_heads * block.d_k


def _maps(block: BlockChoices) -> int:
    """Each matrix that the token meets, once."""
    none = dict.fromkeys(("bias", "qkv_bias", "out_bias", "mlp_bias", "sinks", "router_bias"), False)
    plain = replace(block, **none)
    networks = (plain.n_used or 1) + plain.n_shared
    return attention(plain) + feed_forward(plain, networks) + router(plain)


def _with(own: bool | None, block: BlockChoices) -> int:
    """One if these maps have a bias."""
    return int(block.bias if own is None else own)
