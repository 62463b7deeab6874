"""What each kind of parallel training moves, holds and wastes, by formula, for any number of workers p.

Chapter 5 derives it in eq-ring-bytes, eq-held and eq-bubble. Each formula is tested against what
`attnlib.train.traffic` counts in a run and what the workers hold; so it can be carried on to more of them.
"""

from typing import NamedTuple

from attnlib.models.config import ModelConfig
from attnlib.models.costs import parameters


def rest(config: ModelConfig) -> int:
    """The parameters outside the blocks: the tables of tokens and positions, and the last norm."""
    places = config.context if config.positions == "learned" else 0
    tables = config.vocab * (1 if config.tied else 2)
    return config.d_model * (places + tables + (2 if config.norm == "layer" else 1))


def activations(config: ModelConfig, tokens: int, size: int) -> int:
    """Bytes of one vector for each token: what goes from layer to layer."""
    return tokens * config.d_model * size


def data_parallel_bytes(config: ModelConfig, p: int, size: int = 4) -> float:
    """One all-reduce of all gradients; eq-ring-bytes."""
    return 2 * (p - 1) / p * parameters(config) * size


def fully_sharded_bytes(config: ModelConfig, p: int, size: int = 4) -> float:
    """Blocks are gathered for forward and again for backward, the rest once; all gradients are scattered."""
    blocks = parameters(config) - rest(config)
    return (p - 1) / p * (3 * blocks + 2 * rest(config)) * size


def tensor_parallel_bytes(config: ModelConfig, p: int, tokens: int, size: int = 4) -> float:
    """Four all-reduces a layer, of a vector for each token: after each sublayer, forward and backward."""
    return 4 * config.n_layers * 2 * (p - 1) / p * activations(config, tokens, size)


def pipeline_bytes(config: ModelConfig, p: int, tokens: int, size: int = 4) -> float:
    """A vector for each token to the next worker, and its gradient back: twice for a worker in the middle."""
    return min(p - 1, 2) * activations(config, tokens, size)


class Held(NamedTuple):
    """Bytes of a worker for parameters, gradients and Adam's two averages, in one format."""

    parameters: float
    gradients: float
    averages: float

    @property
    def all(self) -> float:
        return sum(self)


def data_parallel_held(config: ModelConfig, p: int, size: int = 4, state_only: bool = False) -> Held:
    """All of everything; with `state_only` a p-th of the optimiser's averages, as in ZeRO's first stage; eq-held."""
    whole = parameters(config) * size
    return Held(whole, whole, 2 * whole / (p if state_only else 1))


def fully_sharded_held(config: ModelConfig, p: int, size: int = 4) -> Held:
    """A p-th of everything; eq-held."""
    whole = parameters(config) * size
    return Held(whole / p, whole / p, 2 * whole / p)


def tensor_parallel_held(config: ModelConfig, p: int, size: int = 4) -> Held:
    """A p-th of the maps and of the biases on the way in; all of norms, other biases and tables; eq-held."""
    whole = rest(config)
    whole += config.n_layers * 2 * config.d_model * (2 if config.norm == "layer" else 1)
    whole += config.n_layers * 2 * config.d_model if config.bias else 0
    here = (whole + (parameters(config) - whole) / p) * size
    return Held(here, here, 2 * here)


def pipeline_held(config: ModelConfig, p: int, size: int = 4) -> Held:
    """A p-th of the layers; the first worker, counted here, also has the tables of tokens and positions; eq-held."""
    first = config.d_model * (config.vocab + (config.context if config.positions == "learned" else 0))
    here = ((parameters(config) - rest(config)) / p + first) * size
    return Held(here, here, 2 * here)
