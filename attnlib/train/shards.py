"""Sharded checkpoints: each worker writes its shard, and any other number of workers can read them.

Chapter 5 uses it. `torch.distributed.checkpoint` stores parameters and the optimiser's averages under the names of the
model's parameters, not by worker.
"""

from pathlib import Path
from typing import Any

from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save
from torch.optim import Optimizer


def _state(model: nn.Module, optimizer: Optimizer) -> dict[str, Any]:
    of_model, of_optimizer = get_state_dict(model, optimizer)
    return {"model": of_model, "optimizer": of_optimizer}


def save_shards(folder: str | Path, model: nn.Module, optimizer: Optimizer) -> None:
    """Save this worker's shard; all workers call it together."""
    save(_state(model, optimizer), checkpoint_id=folder)


def load_shards(folder: str | Path, model: nn.Module, optimizer: Optimizer) -> None:
    """Load what was saved; all workers, which may be more or fewer than before, call it together."""
    state = _state(model, optimizer)
    load(state, checkpoint_id=folder)
    set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
