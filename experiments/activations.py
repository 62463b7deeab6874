"""Activations and gates at equal parameters: which feed-forward network learns faster? (book: activations-and-gates)

The language, the training and the figure are those of `block`: the share of what can be known. All networks have the
same number of parameters to a third of a percent, except where they look at neighbours, to half a percent.
"""

from collections.abc import Callable
from typing import Any

import block as base
import torch
from _runner import Experiment, main
from torch import Tensor, nn

from attnlib.models.stack import Stack
from attnlib.nn.convolution import ConvolvedFeedForward
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.nn.transformer import FeedForward, pre_norm

D, LAYERS = base.WIDTH, 4
PLAIN, GATED, NEIGHBOURS = 4 * D, 85, 121  # hidden widths that make the numbers of parameters equal


def plain(activation: str) -> Callable[[], nn.Module]:
    return lambda: FeedForward(d_model=D, d_hidden=PLAIN, activation=activation)


def gated(activation: str) -> Callable[[], nn.Module]:
    return lambda: FeedForward(d_model=D, d_hidden=GATED, activation=activation, gated=True)


def neighbours() -> nn.Module:
    return ConvolvedFeedForward(d_model=D, d_hidden=NEIGHBOURS)


class ProductAlone(nn.Module):
    """A gate without an activation function: the product of two linear maps, number by number."""

    def __init__(self) -> None:
        super().__init__()
        self.W_G, self.W_1, self.W_2 = nn.Linear(D, GATED), nn.Linear(D, GATED), nn.Linear(GATED, D)

    def forward(self, X: Tensor) -> Tensor:
        return self.W_2(self.W_G(X) * self.W_1(X))


NETWORKS = {
    "ReLU": plain("relu"),
    "GELU": plain("gelu"),
    "swish": plain("swish"),
    "sigmoid": plain("sigmoid"),
    "GLU": gated("sigmoid"),
    "ReGLU": gated("relu"),
    "GEGLU": gated("gelu"),
    "SwiGLU": gated("swish"),
    "product alone": ProductAlone,
    "neighbours": neighbours,
}


class Layer(nn.Module):
    """A pre-norm block around a network of one's choice."""

    def __init__(self, network: str, attention: bool) -> None:
        super().__init__()
        parts: list[nn.Module] = [NETWORKS[network]()]
        if attention:
            parts.insert(0, MultiHeadAttention(d_model=D, n_heads=base.HEADS, causal=True))
        self.parts = nn.ModuleList(parts)
        self.norms = nn.ModuleList(nn.LayerNorm(D) for _ in parts)

    def forward(self, X: Tensor) -> Tensor:
        for part, norm in zip(self.parts, self.norms, strict=True):
            X = pre_norm(X, norm, part)
        return X


def model(network: str, attention: bool) -> Stack:
    """The model of `block`, with other layers."""
    made = base.model_of(layers=0)
    made.blocks = nn.Sequential(*(Layer(network, attention) for _ in range(LAYERS)))
    return made


def trial(seed: int, steps: int, lr: float, *, network: str, attention: bool = True) -> dict[str, Any]:
    """Train one model; how much of what can be known it knows, and what it costs above the least."""
    torch.manual_seed(seed)
    made = model(network, attention)
    bits = base.gap_after_training(made, seed, steps, lr)
    return {"known": base.share(bits), "gap": bits, "parameters": sum(p.numel() for p in made.parameters())}


EXPERIMENT = Experiment(
    name="activations",
    question="which bend, and is a gate worth its parameters?",
    trial=trial,
    arms={
        "networks": {
            **{name: {"network": name} for name in NETWORKS},
            "neighbours, no attention": {"network": "neighbours", "attention": False},
        }
    },
    steps=base.EXPERIMENT.steps,
    rates=(3e-3, 1e-2, 3e-2, 1e-1),
    settings={**base.EXPERIMENT.settings, "layers": LAYERS, "hidden": (PLAIN, GATED, NEIGHBOURS)},
    figure="known",
    once=lambda: {"floors": base.KNOWN},
)

if __name__ == "__main__":
    main(EXPERIMENT)
