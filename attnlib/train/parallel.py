"""A GPT on several workers, by PyTorch's own means: data parallel, fully sharded, tensor parallel, and in a pipeline.

Chapter 5 uses it. Each function takes the course's `GPT`, the same on all workers, and a `DeviceMesh` of the workers,
which `attnlib.train.workers` starts. The model that it returns is trained as any other, but for four things: a worker
reads the rows `rows_of`, its loss is a sum times `token_weight`, `whole_gradients` gathers sharded gradients, and
`attnlib.train.clipping` shortens them.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from torch.distributed.tensor import DTensor, Replicate
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    ParallelStyle,
    PrepareModuleInput,
    RowwiseParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Optimizer

from attnlib import rules
from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT

SCHEDULES = {"GPipe": ScheduleGPipe, "1F1B": Schedule1F1B}


def mesh_of(**sizes: int) -> DeviceMesh:
    """All workers as a mesh with named dimensions: `mesh_of(data=2, model=4)` has 8 workers in 2 rows of 4."""
    n, there = torch.Size(sizes.values()).numel(), dist.get_world_size()
    rules.must(n == there, "mesh_of", f"the sides must hold all workers; got {sizes} for {there} of them.")
    device = "cuda" if torch.cuda.is_available() and dist.get_backend() == "nccl" else "cpu"
    return init_device_mesh(device, tuple(sizes.values()), mesh_dim_names=tuple(sizes))


def rows_of(rows: Tensor, mesh: DeviceMesh) -> Tensor:
    """This worker's rows of a batch: every p-th, so that each row goes to exactly one worker."""
    return rows[mesh.get_local_rank() :: mesh.size()]


def token_weight(tokens: int, mesh: DeviceMesh) -> Tensor:
    """The factor of a worker's *summed* loss that makes the mean over the workers the mean over all tokens.

    tokens    how many this worker has; the others may have more or fewer (eq-weighted-mean)
    """
    total = torch.tensor(tokens, dtype=torch.float64)
    total = total.to("cuda", torch.float32) if mesh.device_type == "cuda" else total
    dist.all_reduce(total, group=mesh.get_group())
    return mesh.size() / total


def data_parallel(
    model: nn.Module, mesh: DeviceMesh, bucket_megabytes: float = 25
) -> DistributedDataParallel:
    """Each worker has a replica of the model and some of the rows; gradients are averaged bucket by bucket."""
    return DistributedDataParallel(model, process_group=mesh.get_group(), bucket_cap_mb=bucket_megabytes)


def sharded_optimizer(
    model: nn.Module, mesh: DeviceMesh, optimizer: type[Optimizer] = torch.optim.AdamW, **options: Any
) -> Optimizer:
    """An optimiser for data parallel workers, of which each keeps the state of its share of the parameters (eq-held).

    This is the first stage of ZeRO: after its step a worker sends its share of the parameters to all others. Shares are
    whole parameters, as equal in size as they can be. For a checkpoint all workers first call `consolidate_state_dict`,
    as `attnlib.train.fit` does.

    options    those of `optimizer`, such as `lr` and `weight_decay`
    """
    from torch.distributed.optim import ZeroRedundancyOptimizer  # here, because it compiles all optimisers

    group = mesh.get_group()
    return ZeroRedundancyOptimizer(
        model.parameters(), optimizer_class=optimizer, process_group=group, **options
    )


def fully_sharded(model: GPT, mesh: DeviceMesh, dtype: torch.dtype | None = None) -> GPT:
    """Each worker has some of the rows and a shard of each parameter; a block is gathered only while it computes.

    dtype    in which parameters are gathered and used, such as `torch.bfloat16`. The shards, their gradients and the
             optimiser's state keep the dtype of the model, and gradients are summed in it
    """
    held = next(model.parameters()).dtype
    policy = MixedPrecisionPolicy(param_dtype=dtype, reduce_dtype=held if dtype else None)
    for block in model.blocks:
        fully_shard(block, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    return model


def tensor_parallel(model: GPT, mesh: DeviceMesh) -> GPT:
    """Each worker has all rows, some heads, some hidden units: matrices split by columns, then rows (eq-column-row)."""
    _can_be_split(model.config, mesh.size())
    columns = ("attention.W_Q", "attention.W_K", "attention.W_V", "feed_forward.W_1")
    columns += ("feed_forward.W_G",) if model.config.gated else ()
    plan: dict[str, ParallelStyle] = {name: ColwiseParallel() for name in columns}
    plan |= {name: RowwiseParallel() for name in ("attention.W_O", "feed_forward.W_2")}
    # The input is the same on every worker. Declared so, the gradients of its projections are added, then sent once.
    same = {"input_layouts": Replicate(), "desired_input_layouts": Replicate()}
    plan |= {name: PrepareModuleInput(**same) for name in ("attention", "feed_forward")}
    for block in model.blocks:
        parallelize_module(block, mesh, plan)
    return model


def _can_be_split(config: ModelConfig, p: int) -> None:
    """Check that p workers can split the heads, and that the rest of the model is the same on all of them."""
    for name in ("n_heads", "n_kv_heads"):
        rules.splits_evenly(
            "tensor_parallel", name, getattr(config, name) or config.n_heads, "the number of workers", p
        )
    then = "Each worker would have the gradient of its own heads alone."
    rules.must(not config.qk_norm, "tensor_parallel", f"qk_norm must be off; got on. {then}")
    then = "Each worker would draw another dropout mask."
    rules.must(
        not config.dropout, "tensor_parallel", f"dropout must be 0; got dropout={config.dropout:g}. {then}"
    )


class Stage(nn.Module):
    """Some blocks in a row of a GPT; the first stage embeds, the last one scores. Names stay those of the GPT."""

    def __init__(self, model: GPT, stage: int, n_stages: int) -> None:
        super().__init__()
        n_layers = len(model.blocks)
        which = range(n_layers * stage // n_stages, n_layers * (stage + 1) // n_stages)
        parts = dict(model.named_children())
        before = ("embed", "places", "dropout") if stage == 0 else ()
        after = ("norm", "unembed") if stage == n_stages - 1 else ()
        self.names = (*before, "blocks", *after)
        for name in self.names:
            self.add_module(name, model.blocks.part(which) if name == "blocks" else parts[name])

    def forward(self, X: Tensor) -> Tensor:
        for name in self.names:
            X = getattr(self, name)(X)
        return X


def stage_of(model: GPT, mesh: DeviceMesh) -> Stage:
    """This worker's stage of a pipeline."""
    config, p = model.config, mesh.size()
    then = "The first and the last stage would each have a copy of it: set tied=False."
    rules.must(not config.tied, "stage_of", f"embedding and scores must not share a table; got tied. {then}")
    rules.must(
        config.n_layers >= p, "stage_of", f"there must be a block a worker; got {config.n_layers} for {p}."
    )
    return Stage(model, mesh.get_local_rank(), p)


def pipeline(
    stage: nn.Module,
    mesh: DeviceMesh,
    loss: Callable[[Tensor, Tensor], Tensor],
    *,
    micro_batches: int,
    schedule: str = "1F1B",
) -> ScheduleGPipe | Schedule1F1B:
    """The stages in a row; a batch is cut into micro-batches, so that several stages work at once.

    loss    of the scores and the targets of a micro-batch; the losses of a batch are summed
    """
    rules.one_of("pipeline", "schedule", schedule, SCHEDULES)
    here = next(stage.parameters()).device
    mine = PipelineStage(stage, mesh.get_local_rank(), mesh.size(), here, group=mesh.get_group())
    return SCHEDULES[schedule](mine, micro_batches, loss_fn=loss, scale_grads=False)


def pipeline_step(
    schedule: ScheduleGPipe | Schedule1F1B, mesh: DeviceMesh, tokens: Tensor, targets: Tensor
) -> list[Tensor]:
    """Forward and backward of a batch: the first worker reads the tokens, the last one compares with the targets.

    Returns the micro-batches' losses, on the last worker only.
    """
    losses: list[Tensor] = []
    if mesh.get_local_rank() == mesh.size() - 1:
        schedule.step(*((tokens,) if mesh.size() == 1 else ()), target=targets, losses=losses)
    elif mesh.get_local_rank() == 0:
        schedule.step(tokens)
    else:
        schedule.step()
    return losses


def whole(value: Tensor) -> Tensor:
    """The whole of a tensor, gathered where it is sharded; all workers have to call it together."""
    return value.full_tensor() if isinstance(value, DTensor) else value


def whole_gradients(model: nn.Module) -> dict[str, Tensor]:
    """The gradients of the GPT's parameters, by name."""
    bare = model.module if isinstance(model, DistributedDataParallel) else model
    return {name: whole(one.grad) for name, one in bare.named_parameters() if one.grad is not None}


def shard(value: Tensor) -> Tensor:
    """What this worker holds of a tensor: its shard, or all where the tensor is not sharded."""
    return value.to_local() if isinstance(value, DTensor) else value


def bytes_held(tensors: Iterable[Tensor]) -> int:
    """The bytes of this worker's shards of some tensors."""
    return sum(one.numel() * one.element_size() for one in map(shard, tensors))
