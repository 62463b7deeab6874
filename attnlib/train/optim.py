"""What of a model decays: the groups of parameters that `torch.optim` takes.

Chapter 5 says why. The rules themselves are `torch.optim.SGD`, `Adam`, `AdamW`, `Adafactor` and `Muon`, and equation by
equation `attnlib.reference.optim` and `.matrix_optim`, where Adam's settings stand by their sources, too.
"""

from typing import Any

from torch import nn

from attnlib.shapes import Number, checked


@checked
def decay_groups(model: nn.Module, decay: Number[float, "0.."]) -> list[dict[str, Any]]:
    """Two groups for an optimiser: maps, which decay, and biases, norms and embeddings, which do not.

    Decay pulls towards zero. A map smaller than it was says the same more softly, but a gain of a norm of zero says
    nothing, a bias has no size to hold down, and a rare token would fade while nobody uses it.

    >>> model = nn.Sequential(nn.Embedding(7, 4), nn.Linear(4, 3), nn.LayerNorm(3))
    >>> [sum(one.numel() for one in group["params"]) for group in decay_groups(model, 0.1)]
    [12, 37]
    """
    tables = {id(one.weight) for one in model.modules() if isinstance(one, nn.Embedding)}
    learned = [one for one in model.parameters() if one.requires_grad]
    decays = [one for one in learned if one.ndim > 1 and id(one) not in tables]
    spared = [one for one in learned if one.ndim < 2 or id(one) in tables]
    return [{"params": decays, "weight_decay": decay}, {"params": spared, "weight_decay": 0.0}]
