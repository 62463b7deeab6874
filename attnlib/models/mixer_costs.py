"""What the mixer of one layer costs: numbers in its maps, numbers that its cache keeps, multiplications.

Book: Chapters 4 and 6 (eq-parameters, eq-multiplications, eq-cache-size). `attnlib.models.costs` adds up the layers of
a model. A mixer of `attnlib.models.parts.MIXERS` that is to be counted has a row in COSTS.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

CHUNK = 64  # how many tokens layers with a state compute at once


class Kept(NamedTuple):
    """Numbers in a cache: `a_token` of each of the last `at_most` tokens, and a `state`, at least in float32."""

    a_token: int = 0
    at_most: float = math.inf
    state: int = 0

    def size(self, n: float, bytes_each: int) -> int:
        """Bytes after n tokens."""
        return int(self.a_token * min(n, self.at_most)) * bytes_each + self.state * max(bytes_each, 4) * (
            n > 0
        )


class Costs(NamedTuple):
    """What a mixer costs, each a function of the config."""

    maps: Callable[[Any], int]  # numbers in matrices that each token is multiplied with
    other: Callable[[Any], int]  # further numbers that are learned: biases, norms and filters
    kept: Callable[[Any], Kept]
    multiplied: Callable[
        [Any, int, int], int
    ]  # multiply-adds of n tokens after `read`, beside those of the maps


def head_width(config: Any) -> int:
    """The width of one head."""
    return config.d_k or config.d_model // config.n_heads


def head_widths(config: Any) -> tuple[int, int]:
    """Together the queries' heads, and together the keys' heads."""
    d_k = head_width(config)
    return config.n_heads * d_k, (config.n_kv_heads or config.n_heads) * d_k


def norm_numbers(config: Any, width: int) -> int:
    """A gain for each coordinate, and a shift."""
    return {"layer": 2, "rms": 1, "none": 0}[config.norm] * width


# Softmax attention.


def attention_maps(config: Any) -> int:
    queries, keys = head_widths(config)
    return config.d_model * (2 * queries + 2 * keys)


def attention_other(config: Any) -> int:
    queries, keys = head_widths(config)
    norms = norm_numbers(config, 2 * head_width(config)) if config.qk_norm else 0
    return norms + (queries + 2 * keys + config.d_model if config.bias else 0)


def attention_multiplied(config: Any, n: int, read: int) -> int:
    """Scores and averages: n (read + n) for each number of the queries, twice, with the half that a mask hides."""
    return 2 * n * (read + n) * head_widths(config)[0]


def window_multiplied(config: Any, n: int, read: int) -> int:
    """As it is computed here: a mask hides what is far, but of earlier tokens no more are held than a window."""
    return 2 * n * (min(read, config.window) + n) * head_widths(config)[0]


# Latent keys and values.


def latent_maps(config: Any) -> int:
    d, queries = config.d_model, head_widths(config)[0]
    down = d * (config.d_latent + config.d_rotated)
    return d * (2 * queries + config.n_heads * config.d_rotated) + down + 2 * config.d_latent * queries


def latent_other(config: Any) -> int:
    queries = head_widths(config)[0] + config.n_heads * config.d_rotated
    biases = queries + config.d_latent + config.d_rotated + config.d_model if config.bias else 0
    return biases + norm_numbers(config, config.d_latent)


def latent_multiplied(config: Any, n: int, read: int) -> int:
    """As it is trained, with keys and values made of each latent; after a cache they are made again."""
    queries = head_widths(config)[0]
    made = read * 2 * config.d_latent * queries
    return n * (read + n) * (2 * queries + config.n_heads * config.d_rotated) + made


# Layers with a state.


def state_maps(config: Any, n_numbers: int) -> int:
    """Queries, keys, values, output and gate, and one map for each number that a head computes of a token."""
    d, width = config.d_model, head_widths(config)[0]
    return d * width * (5 if config.output_gate else 4) + d * config.n_heads * n_numbers


def state_other(config: Any, n_numbers: int) -> int:
    d, width = config.d_model, head_widths(config)[0]
    biases = (3 * width + d if config.bias else 0) + (width if config.output_gate else 0)
    filters = 3 * width * (config.conv or 0)
    return biases + filters + norm_numbers(config, head_width(config)) + config.n_heads * n_numbers


def state_kept(config: Any) -> Kept:
    """A square for each head, and of the last tokens what the next convolution sees."""
    width, rows = head_widths(config)[0], (config.conv or 1) - 1
    return Kept(a_token=3 * width, at_most=rows, state=width * head_width(config))


def linear_multiplied(config: Any, n: int, read: int) -> int:
    """One token writes an outer product and reads; more are computed in chunks."""
    width = head_widths(config)[0]
    d_k, c = head_width(config), min(CHUNK, n)
    within = 2 * c if n > 1 else 0
    return -(-n // c) * c * width * (within + 2 * d_k)


def delta_multiplied(config: Any, n: int, read: int) -> int:
    """One token reads, writes the difference and reads again. In chunks there is a triangular system for the values and
    for what the keys read of the state, and between chunks a matrix by which the state is multiplied."""
    width = head_widths(config)[0]
    d_k, c = head_width(config), min(CHUNK, n)
    if n == 1:
        return 3 * width * d_k
    chunks = -(-n // c)
    of_each = 3 * c * c + solved(c, 2) + 2 * c * d_k
    between = 2 * c * d_k + d_k * d_k
    return width * (chunks * of_each + (chunks - 1) * between + c * d_k)


def solved(c: int, columns: int) -> int:
    """Multiplications of a triangular system of c equations with ones on its diagonal, a column at a time."""
    return columns * c * (c - 1) // 2


# State spaces, as `attnlib.nn.state_space.StateSpace` has them: twice the width, and 16 numbers for each channel.

EXPAND, D_STATE = 2, 16


def space_sizes(config: Any) -> tuple[int, int, int]:
    """Channels, the rank of the map to their steps, and the tokens that the convolution sees."""
    return EXPAND * config.d_model, math.ceil(config.d_model / 16), config.conv or 1


def space_maps(config: Any) -> int:
    d, rank, _ = space_sizes(config)
    return 3 * config.d_model * d + 2 * d * (D_STATE + rank)


def space_other(config: Any) -> int:
    d, _, width = space_sizes(config)
    biases = 2 * d + config.d_model if config.bias else 0
    of_channels = D_STATE + width + 3  # A, the filter and its bias, the bias of the step, and `skip`
    return biases + d * of_channels + norm_numbers(config, d // config.n_heads)


def space_kept(config: Any) -> Kept:
    """The state of each channel, and its last tokens, which the next convolution sees."""
    d, _, width = space_sizes(config)
    return Kept(at_most=0, state=d * (D_STATE + width - 1))


def space_multiplied(config: Any, n: int, read: int) -> int:
    """For each number of a state: its decay, what is written, what is kept and what is read. A parallel scan computes
    what is kept in three products."""
    return n * space_sizes(config)[0] * D_STATE * (4 if n == 1 else 6)


def full(config: Any) -> Kept:
    return Kept(a_token=2 * head_widths(config)[1])


ATTENTION = Costs(attention_maps, attention_other, full, attention_multiplied)
COSTS: dict[str, Costs] = {
    "attention": ATTENTION,
    "full": ATTENTION,
    "window": ATTENTION._replace(
        kept=lambda config: Kept(2 * head_widths(config)[1], config.window + 1), multiplied=window_multiplied
    ),
    "latent": Costs(
        latent_maps,
        latent_other,
        lambda config: Kept(a_token=config.d_latent + config.d_rotated),
        latent_multiplied,
    ),
    "linear": Costs(
        lambda config: state_maps(config, 1),
        lambda config: state_other(config, 1),
        state_kept,
        linear_multiplied,
    ),
    "delta": Costs(
        lambda config: state_maps(config, 2),
        lambda config: state_other(config, 2),
        state_kept,
        delta_multiplied,
    ),
    "state space": Costs(space_maps, space_other, space_kept, space_multiplied),
    "none": Costs(lambda config: 0, lambda config: 0, lambda config: Kept(), lambda config, n, read: 0),
}
