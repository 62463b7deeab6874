"""What a GPT costs, counted from its config alone: parameters, multiply-adds, bytes kept and bytes moved, days.

The book derives it in eq-parameters, eq-multiplications, eq-activations and eq-days (Chapter 4). Each count is tested
against the thing: the model's tensors, PyTorch's counter of operations, what autograd keeps, a cache.
"""

import math
from typing import NamedTuple

from attnlib import rules
from attnlib.models.config import ModelConfig
from attnlib.models.mixer_costs import COSTS, Costs, head_widths

ADAM = 3  # numbers that are kept of each parameter from step to step: itself, and Adam's two averages


def hidden_width(config: ModelConfig) -> int:
    """The width inside the feed-forward network."""
    return config.d_hidden or 4 * config.d_model


def mixers_of(config: ModelConfig) -> list[Costs]:
    """What the mixer of each layer costs."""
    for word in config.pattern:
        rules.one_of("costs", "a mixer that is counted", word, COSTS)
    return [COSTS[word] for word in config.mixers]


def matrices(config: ModelConfig) -> dict[str, int]:
    """Numbers in the matrices that every token is multiplied with, part by part; eq-parameters.

    "attention" is whatever carries information from position to position, layers with a state as well.

    >>> matrices(ModelConfig(vocab=100, d_model=8, n_layers=2))
    {'attention': 512, 'feed-forward': 1024, 'scores': 800}
    """
    d, L = config.d_model, config.n_layers
    return {
        "attention": sum(mixer.maps(config) for mixer in mixers_of(config)),
        "feed-forward": L * d * hidden_width(config) * (3 if config.gated else 2),
        "scores": d * config.vocab,
    }


def parameters(config: ModelConfig) -> int:
    """How many numbers the model learns: its matrices, its tables, its biases and norms; eq-parameters.

    >>> from attnlib.models.gpt import gpt2_small
    >>> parameters(gpt2_small())
    124439808
    """
    d, L, hidden = config.d_model, config.n_layers, hidden_width(config)
    places = d * config.context if config.positions == "learned" else 0
    table = 0 if config.tied else d * config.vocab  # tied: the scores' matrix is the table
    biases = L * (hidden * (2 if config.gated else 1) + d) if config.bias else 0
    norm = 2 if config.norm == "layer" else 1
    norms = norm * d * ((4 if config.order == "sandwich" else 2) * L + 1)
    of_mixers = sum(mixer.other(config) for mixer in mixers_of(config))
    return sum(matrices(config).values()) + places + table + biases + norms + of_mixers


def multiplications(config: ModelConfig, n: int, read: int = 0) -> int:
    """Multiply-adds forward for n tokens of one text after `read` that a cache holds; eq-multiplications.

    Each token meets each matrix once. The scores and the average of attention are n (read + n) for each number of the
    queries, twice: the half that a causal mask hides is counted, too. Latent layers are counted as they are trained,
    with keys and values made of each latent; after a cache they would be made again, or absorbed. Layers with a state
    write into it and read from it, whatever `read` is; of several tokens they compute chunks of 64.
    """
    mixed = sum(mixer.multiplied(config, n, read) for mixer in mixers_of(config))
    return n * sum(matrices(config).values()) + mixed


def activations(config: ModelConfig, b: int, n: int) -> int:
    """Numbers that a training step keeps from forward to backward, for b texts of n tokens; eq-activations.

    Of a plain block with layer norms: the stream twice, the outputs of the two norms and their means and deviations,
    queries, keys and values, the outputs of the heads and the logarithm of each head's sum, and the hidden layer
    before and after the activation. After the blocks: the stream, the output of the last norm, and log-probabilities.
    """
    (queries, keys), hidden, d = head_widths(config), hidden_width(config), config.d_model
    block = 4 * d + 4 + 2 * queries + 2 * keys + config.n_heads + 2 * hidden
    return b * n * (config.n_layers * block + 2 * d + 2 + config.vocab)


def training_numbers(config: ModelConfig, b: int, n: int) -> int:
    """The most numbers that a training step with Adam holds at once: gradients come while activations go."""
    learned = parameters(config)
    return ADAM * learned + max(learned, activations(config, b, n))


def cache_bytes(config: ModelConfig, n: int, bytes_each: int = 2) -> int:
    """Bytes that the caches of all layers keep after n tokens; heads that are shared are held once; eq-cache-size.

    Keys and values, or latents; in a window those of the last tokens; or a state, with at least 4 bytes a number.

    >>> from attnlib.models.gpt import gpt2_small
    >>> cache_bytes(gpt2_small(), n=1)
    36864
    """
    return sum(mixer.kept(config).size(n, bytes_each) for mixer in mixers_of(config))


def bytes_a_token(config: ModelConfig, bytes_each: int = 2) -> int:
    """Bytes by which the caches grow with each token, however long the text is: those of the full layers."""
    kept = [mixer.kept(config) for mixer in mixers_of(config)]
    return sum(one.a_token * bytes_each for one in kept if one.at_most == math.inf)


def fixed_bytes(config: ModelConfig, bytes_each: int = 2) -> int:
    """Bytes that the caches keep however long the text is: full windows, and states.

    >>> config = ModelConfig(5, d_model=8, n_heads=2, n_layers=2, mixer=("delta", "full"), conv=None)
    >>> bytes_a_token(config), fixed_bytes(config)  # 16 numbers a token; two states of 4 x 4 numbers of 4 bytes
    (32, 128)
    """
    kept = [mixer.kept(config) for mixer in mixers_of(config)]
    return sum(one.size(max(1, one.at_most), bytes_each) for one in kept if one.at_most < math.inf)


def step_bytes(config: ModelConfig, read: int, b: int = 1, bytes_each: int = 2) -> int:
    """What has to be brought to the arithmetic for one more token of b texts: each matrix once, each text's cache."""
    return sum(matrices(config).values()) * bytes_each + b * cache_bytes(config, read, bytes_each)


def days(n_parameters: float, tokens: float, flops: float, utilisation: float) -> float:
    """How long a training takes: 6 operations for each parameter and token, on a machine that reaches a share of its
    operations a second; eq-days.

    >>> round(days(175e9, 300e9, flops=1e15, utilisation=1.0))  # GPT-3 on a machine of one petaflop a second
    3646
    """
    return 6 * n_parameters * tokens / (flops * utilisation) / 86_400


class Published(NamedTuple):
    """A published model: how many parameters its authors state, and what is needed to count its matrices."""

    name: str
    n_layers: int
    d_model: int
    vocab: int
    told: float  # parameters
    per_layer: int = 12  # numbers in a block's matrices, in squares of the width

    def counted(self) -> int:
        """Matrices of all blocks and one table: eq-parameters."""
        return self.per_layer * self.n_layers * self.d_model**2 + self.vocab * self.d_model


PUBLISHED = (
    Published(
        "Transformer base", 12, 512, 37_000, 65e6, per_layer=14
    ),  # 12 in six blocks, 16 in those of the decoder
    Published("Transformer big", 12, 1024, 37_000, 213e6, per_layer=14),
    Published("BERT base", 12, 768, 30_522, 110e6),
    Published("BERT large", 24, 1024, 30_522, 340e6),
    Published("XLNet large", 24, 1024, 32_000, 340e6),
    Published("RoBERTa", 24, 1024, 50_265, 355e6),
    Published("GPT-2", 48, 1600, 50_257, 1.5e9),
    Published("Megatron-LM", 72, 3072, 51_200, 8.3e9),
    Published("Turing-NLG", 78, 4256, 50_257, 17e9),
    Published("GPT-3", 96, 12_288, 50_257, 175e9),
    Published("Gopher", 80, 16_384, 32_000, 280e9, per_layer=13),  # one more matrix for relative positions
)
