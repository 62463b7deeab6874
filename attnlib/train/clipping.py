"""The length of all gradients of a model on several workers, and clipping by it.

Chapter 5 uses it. A parameter counts once, whether one worker holds it, each of them a copy, or each a shard.
`torch.nn.utils.clip_grad_norm_` is enough where all gradients are of one kind; a tensor parallel model has both.
"""

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh

from attnlib import rules
from attnlib.train.parallel import shard, whole


def gradient_norm(model: nn.Module, stages: DeviceMesh | None = None) -> Tensor:
    """The Euclidean length of all gradients as one vector, the same on all workers, which call it together.

    stages    the workers of a pipeline, whose parameters are all different

    >>> model = nn.Linear(2, 1, bias=False)
    >>> model(torch.tensor([[3.0, 4.0]])).sum().backward()
    >>> gradient_norm(model)
    tensor(5.)
    """
    gradients = [one.grad for one in model.parameters() if one.grad is not None]
    lengths = [whole(torch.linalg.vector_norm(gradient)) for gradient in gradients]
    square = torch.stack(lengths).square().sum()
    if stages is not None:
        dist.all_reduce(square, group=stages.get_group())
    return square.sqrt()


def clip_gradients(model: nn.Module, max_norm: float, stages: DeviceMesh | None = None) -> Tensor:
    """Scale all gradients by one factor so that their length is at most `max_norm`; returns the length before.

    >>> model = nn.Linear(2, 1, bias=False)
    >>> model(torch.tensor([[3.0, 4.0]])).sum().backward()
    >>> clip_gradients(model, 1.0), model.weight.grad
    (tensor(5.), tensor([[0.6000, 0.8000]]))
    """
    rules.must(max_norm > 0, "clip_gradients", f"max_norm must be positive; got {max_norm:g}.")
    norm = gradient_norm(model, stages)
    factor = (max_norm / norm).clamp(max=1.0)
    for one in model.parameters():
        if one.grad is not None:
            shard(one.grad).mul_(factor)
    return norm
