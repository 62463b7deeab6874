"""Groups of parameters for `torch.optim`: which ones have weight decay, and which ones Muon updates.

Chapter 5 says why. The optimisers themselves are `torch.optim.SGD`, `Adam`, `AdamW`, `Adafactor` and `Muon`. They are
derived in `attnlib.reference.optim` and `.matrix_optim`, where Adam's settings are named by their sources.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from attnlib import rules
from attnlib.nn.positional import LearnedPositions
from attnlib.nn.relative import OffsetBias
from attnlib.reference.optim import BROWN_2020
from attnlib.shapes import Number, checked

TABLES = (nn.Embedding, LearnedPositions, OffsetBias)  # their `weight` is looked up, not multiplied with


@checked
def decay_groups(model: nn.Module, decay: Number[float, "0.."]) -> list[dict[str, Any]]:
    """Two groups for an optimiser: matrices, which decay, and biases, norms and embeddings, which do not.

    Decay pulls towards zero. That makes the outputs of a matrix smaller; but a norm with a gain of zero has no output,
    a bias scales nothing, and the embedding of a rare token would shrink in all the steps without this token.

    >>> model = nn.Sequential(nn.Embedding(7, 4), nn.Linear(4, 3), nn.LayerNorm(3))
    >>> [sum(one.numel() for one in group["params"]) for group in decay_groups(model, 0.1)]
    [12, 37]
    """
    tables = {id(one.weight) for one in model.modules() if isinstance(one, TABLES)}
    learned = [one for one in model.parameters() if one.requires_grad]
    decays = [one for one in learned if one.ndim > 1 and id(one) not in tables]
    spared = [one for one in learned if one.ndim < 2 or id(one) in tables]
    return [{"params": decays, "weight_decay": decay}, {"params": spared, "weight_decay": 0.0}]


class Together(torch.optim.Optimizer):
    """Several optimisers as one, each for other parameters; a schedule multiplies the rate of each.

    >>> maps, biases = (torch.zeros(shape, requires_grad=True) for shape in ((2, 2), (2,)))
    >>> both = Together(torch.optim.SGD([maps], lr=0.5), torch.optim.AdamW([biases], lr=0.1))
    >>> [group["lr"] for group in both.param_groups]
    [0.5, 0.1]
    """

    def __init__(self, *optimizers: torch.optim.Optimizer) -> None:
        self.optimizers = optimizers
        super().__init__([group for one in optimizers for group in one.param_groups], {})

    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        """One step of each; a closure, which computes the loss again, is not possible."""
        rules.must(closure is None, "Together", f"step takes no closure; got {closure!r}.")
        for one in self.optimizers:
            one.step()

    def state_dict(self) -> dict[str, Any]:
        return {"each": [one.state_dict() for one in self.optimizers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        for one, state in zip(self.optimizers, state_dict["each"], strict=True):
            one.load_state_dict(state)
        self.param_groups = [group for one in self.optimizers for group in one.param_groups]


@checked
def muon_and_adamw(
    model: nn.Module,
    hidden: nn.Module,
    *,
    muon_rate: Number[float, "0<.."] = 0.02,
    rate: Number[float, "0<.."] = 3e-3,
    decay: Number[float, "0.."] = 0.1,
) -> Together:
    """Muon for the matrices in `hidden`, such as `model.blocks`; AdamW for embeddings, scores, biases and norms.

    >>> model = nn.Sequential(nn.Embedding(7, 4), nn.Linear(4, 3), nn.LayerNorm(3))
    >>> [type(one).__name__ for one in muon_and_adamw(model, model[1]).optimizers]
    ['Muon', 'AdamW']
    """
    came = f"got torch {torch.__version__}, which has none. Take torch 2.9 or newer."
    rules.must(hasattr(torch.optim, "Muon"), "muon_and_adamw", f"torch must have Muon; {came}")
    inside = {id(one) for one in hidden.parameters()}
    decays, spared = decay_groups(model, decay)
    orthogonalised = [one for one in decays["params"] if one.ndim == 2 and id(one) in inside]
    others = {"params": [one for one in decays["params"] if not any(one is two for two in orthogonalised)]}
    groups = [one for one in (decays | others, spared) if one["params"]]
    return Together(
        torch.optim.Muon(orthogonalised, lr=muon_rate, weight_decay=decay),
        torch.optim.AdamW(groups, lr=rate, betas=BROWN_2020[:2], eps=BROWN_2020.eps),
    )
