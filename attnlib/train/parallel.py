"""A GPT on several workers: data parallel, fully sharded, tensor parallel, and in a pipeline, by PyTorch's own means.

Chapter 5 uses it. Each function takes the course's `GPT`, the same on all workers, and a `DeviceMesh`, which says who
the workers are; `attnlib.train.workers` starts them. What comes back is trained as before, with three things to
remember: each worker's loss is its sum times `token_weight`, its rows are its own (`rows_of`), and the whole of a
gradient is `whole_gradients`.
"""

from collections.abc import Callable, Iterable

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
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

from attnlib import rules
from attnlib.models.gpt import GPT, GPTConfig

SCHEDULES = {"GPipe": ScheduleGPipe, "1F1B": Schedule1F1B}


def mesh_of(**sizes: int) -> DeviceMesh:
    """All workers in a box with named sides: `mesh_of(data=2, model=4)` is 8 workers, and `mesh["data"]` one side."""
    n, there = torch.Size(sizes.values()).numel(), dist.get_world_size()
    rules.must(n == there, "mesh_of", f"the sides must hold all workers; got {sizes} for {there} of them.")
    device = "cuda" if torch.cuda.is_available() and dist.get_backend() == "nccl" else "cpu"
    return init_device_mesh(device, tuple(sizes.values()), mesh_dim_names=tuple(sizes))


def rows_of(rows: Tensor, mesh: DeviceMesh) -> Tensor:
    """This worker's rows of a batch: every p-th, so that no two workers see the same and none is forgotten."""
    return rows[mesh.get_local_rank() :: mesh.size()]


def token_weight(tokens: int, mesh: DeviceMesh) -> Tensor:
    """What a worker multiplies its *sum* of surprise with, so that the mean over the workers is that over all tokens.

    tokens    how many this worker has, which may be more or fewer than the others have (eq-weighted-mean)
    """
    total = torch.tensor(tokens, dtype=torch.float64)
    total = total.to("cuda", torch.float32) if mesh.device_type == "cuda" else total
    dist.all_reduce(total, group=mesh.get_group())
    return mesh.size() / total


def data_parallel(
    model: nn.Module, mesh: DeviceMesh, bucket_megabytes: float = 25
) -> DistributedDataParallel:
    """Every worker has all of the model and some of the rows; gradients are averaged bucket by bucket."""
    return DistributedDataParallel(model, process_group=mesh.get_group(), bucket_cap_mb=bucket_megabytes)


def fully_sharded(model: GPT, mesh: DeviceMesh) -> GPT:
    """Every worker has some of the rows and a part of every parameter; a block is whole only while it computes."""
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model


def tensor_parallel(model: GPT, mesh: DeviceMesh) -> GPT:
    """Every worker has all rows, some heads, some hidden units: maps in by columns, out by rows (eq-column-row)."""
    _can_be_split(model.config, mesh.size())
    columns = ("attention.W_Q", "attention.W_K", "attention.W_V", "feed_forward.W_1")
    columns += ("feed_forward.W_G",) if model.config.gated else ()
    plan: dict[str, ParallelStyle] = {name: ColwiseParallel() for name in columns}
    plan |= {name: RowwiseParallel() for name in ("attention.W_O", "feed_forward.W_2")}
    # What enters is known to be the same for all, so that the slopes of all maps in are summed before they are sent.
    same = {"input_layouts": Replicate(), "desired_input_layouts": Replicate()}
    plan |= {name: PrepareModuleInput(**same) for name in ("attention", "feed_forward")}
    for block in model.blocks:
        parallelize_module(block, mesh, plan)
    return model


def _can_be_split(config: GPTConfig, p: int) -> None:
    """Whether p workers can share the heads, and say the same of everything else."""
    for name in ("n_heads", "n_kv_heads"):
        rules.splits_evenly(
            "tensor_parallel", name, getattr(config, name) or config.n_heads, "the number of workers", p
        )
    then = "Each worker would hear of its own heads alone."
    rules.must(not config.qk_norm, "tensor_parallel", f"qk_norm must be off; got on. {then}")
    then = "Each worker would drop others."
    rules.must(
        not config.dropout, "tensor_parallel", f"dropout must be 0; got dropout={config.dropout:g}. {then}"
    )


class Stage(nn.Module):
    """Some blocks in a row of a GPT; the first stage embeds, the last one scores. Names stay those of the GPT."""

    def __init__(self, model: GPT, stage: int, n_stages: int) -> None:
        super().__init__()
        n_layers = len(model.blocks)
        which = range(n_layers * stage // n_stages, n_layers * (stage + 1) // n_stages)
        first, last = stage == 0, stage == n_stages - 1
        self.embed, self.places = (model.embed, model.places) if first else (None, None)
        self.dropout, self.turn = model.dropout, model.turn
        self.blocks = nn.ModuleDict({str(i): model.blocks[i] for i in which})
        self.norm, self.unembed = (model.norm, model.unembed) if last else (None, None)

    def forward(self, X: Tensor) -> Tensor:
        if self.embed is not None:
            X = self.embed(X)
            if self.places is not None:
                X = X + self.places.weight[: X.shape[1]]
            X = self.dropout(X)
        for block in self.blocks.values():
            X = block(X, positions=self.turn)
        if self.norm is not None and self.unembed is not None:
            X = self.unembed(self.norm(X))
        return X


def stage_of(model: GPT, mesh: DeviceMesh) -> Stage:
    """What this worker of a pipeline has: the blocks of its stage."""
    config, p = model.config, mesh.size()
    then = "First and last stage would each have a table of their own: set tied=False."
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
    """The stages one behind the other; a batch is cut into micro-batches, so that several work at once.

    loss    of scores and what was to be said, for a micro-batch; those of a batch are summed
    """
    rules.one_of("pipeline", "schedule", schedule, SCHEDULES)
    here = next(stage.parameters()).device
    mine = PipelineStage(stage, mesh.get_local_rank(), mesh.size(), here, group=mesh.get_group())
    return SCHEDULES[schedule](mine, micro_batches, loss_fn=loss, scale_grads=False)


def pipeline_step(
    way: ScheduleGPipe | Schedule1F1B, mesh: DeviceMesh, read: Tensor, said: Tensor
) -> list[Tensor]:
    """Forward and backward of a batch: the first worker has what is read, the last one what was to be said.

    Returns the micro-batches' losses, on the last worker only.
    """
    losses: list[Tensor] = []
    if mesh.get_local_rank() == mesh.size() - 1:
        way.step(*((read,) if mesh.size() == 1 else ()), target=said, losses=losses)
    elif mesh.get_local_rank() == 0:
        way.step(read)
    else:
        way.step()
    return losses


def whole(value: Tensor) -> Tensor:
    """All of a tensor, also where each worker holds a part; all workers have to ask for it together."""
    return value.full_tensor() if isinstance(value, DTensor) else value


def whole_gradients(model: nn.Module) -> dict[str, Tensor]:
    """The gradients by the names of the GPT's parameters."""
    bare = model.module if isinstance(model, DistributedDataParallel) else model
    return {name: whole(one.grad) for name, one in bare.named_parameters() if one.grad is not None}


def bytes_held(tensors: Iterable[Tensor]) -> int:
    """The memory of this worker's part of some tensors."""
    parts = [one.to_local() if isinstance(one, DTensor) else one for one in tensors]
    return sum(part.numel() * part.element_size() for part in parts)
