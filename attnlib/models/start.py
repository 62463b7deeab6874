"""The random numbers with which a training starts: those of GPT-2, and those of the transformer of 2017.

Chapters 4 and 5 derive them (from-text-to-vectors, how-fast).
"""

import math

from torch import nn

from attnlib.nn.positional import LearnedPositions

WRITES = ("W_O", "W_2")  # the maps of a sublayer that write into the residual stream


def initialise(model: nn.Module, spread: float = 0.02) -> None:
    """Small random numbers, so that the first loss is log V; what adds to the stream is smaller the deeper it is.

    Each block adds to the stream twice, so that its variance would grow with the number of layers L: the maps that
    write into it are divided by the root of 2 L.
    """
    for module in model.modules():
        if isinstance(module, (nn.Linear, nn.Embedding, LearnedPositions)):
            nn.init.normal_(module.weight, std=spread)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)
    writing = [module for name, module in model.named_modules() if name.endswith(WRITES)]
    for W in writing:
        assert isinstance(W, nn.Linear)
        nn.init.normal_(W.weight, std=spread / math.sqrt(len(writing)))
    begin(model)


def keep_sizes(model: nn.Module) -> None:
    """Maps that keep the size of what they read (Glorot and Bengio 2010); biases are zero."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    begin(model)


def begin(model: nn.Module) -> None:
    """Layers that begin with certain numbers, such as the decays of a state, say so in a method of this name."""
    for module in model.modules():
        if hasattr(module, "begin"):
            module.begin()  # type: ignore[operator]
