"""What the workers of `test_parallel.py` do: each kind beside the single process, all in one start of processes."""

import json
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist

from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT
from attnlib.train import parallel as by
from attnlib.train import pretraining
from attnlib.train.clipping import clip_gradients, gradient_norm
from attnlib.train.fit import fit
from attnlib.train.rows import TokenRows
from attnlib.train.shards import load_shards, save_shards
from attnlib.train.traffic import Traffic
from attnlib.train.worker_group import WorkerGroup

N, ROWS, VOCAB, MICRO = 7, 8, 11, 4
EVEN = {"vocab": 16, "context": 8}  # sizes that four workers divide, where bytes are counted
LLAMA = {
    "positions": "rotary", "layout": "halves", "norm": "rms", "activation": "swish", "gated": True, "n_kv_heads": 4,
    "bias": False,
}  # fmt: skip
MODELS = {"": {}, "tied": {"tied": True}, "a Llama": LLAMA}


def config(**more):
    sizes = {"vocab": VOCAB, "context": N, "d_model": 32, "n_heads": 8, "d_hidden": 20, "n_layers": 4}
    return ModelConfig(**(sizes | {"tied": False} | more))


def gpt(**more):
    torch.manual_seed(0)
    model = GPT(config(**more)).double()
    for one in model.parameters():  # biases that are zero would be added twice unseen
        torch.nn.init.normal_(one, std=0.3)
    return model


def data():
    """A batch whose rows differ in what counts: worker 0's share has fewer tokens than the others'."""
    rows = torch.randint(VOCAB, (ROWS, N + 1), generator=torch.Generator().manual_seed(1))
    said = rows[:, 1:].clone()
    said[0, 2:] = -100
    said[3, 5:] = -100
    return rows[:, :-1], said


def loss(scores, said):
    """The sum over the tokens that count."""
    return torch.nn.functional.cross_entropy(
        scores.flatten(0, 1), said.flatten(), reduction="sum", ignore_index=-100
    )


def counted(said):
    return int((said >= 0).sum())


def single(**more):
    read, said = data()
    model = gpt(**more)
    value = loss(model(read), said) / counted(said)
    value.backward()
    return value.item(), by.whole_gradients(model)


def differs(value, model, alone):
    """How far the loss and the gradients are from the single process, at most, and how many there are."""
    gradients = by.whole_gradients(model)
    far = max(float((one - alone[1][name]).abs().max()) for name, one in gradients.items())
    return {"loss": abs(float(value) - alone[0]), "gradient": far, "names": sorted(gradients)}


def over_all(value, mesh):
    """The mean over the workers of a side."""
    value = value.detach().clone()
    dist.all_reduce(value, group=mesh.get_group())
    return value / mesh.size()


def by_rows(model, mesh):
    """Forward and backward where each worker of `mesh` has rows of its own."""
    read, said = (by.rows_of(one, mesh) for one in data())
    value = loss(model(read), said) * by.token_weight(counted(said), mesh)
    value.backward()
    return over_all(value, mesh)


def all_rows(model):
    read, said = data()
    value = loss(model(read), said) / counted(said)
    value.backward()
    return value.detach()


def in_a_pipeline(stage, mesh, schedule, rows=None, weight=None, micro_batches=MICRO):
    """Loss, on the last worker only, of a forward and backward through all stages."""
    read, said = data() if rows is None else rows
    weight = 1 / counted(said) if weight is None else weight
    way = by.pipeline(
        stage, mesh, lambda scores, said: loss(scores, said) * weight,
        micro_batches=micro_batches, schedule=schedule,
    )  # fmt: skip
    return way, lambda: by.pipeline_step(way, mesh, read, said)


def kinds(p):
    """Each kind alone."""
    mesh, found = by.mesh_of(all=p), {}
    for name, more in MODELS.items():
        alone, name = single(**more), name and f", {name}"
        for kind in (by.data_parallel, by.fully_sharded):
            model = kind(gpt(**more), mesh)
            found[kind.__name__ + name] = differs(by_rows(model, mesh), model, alone)
        model = by.tensor_parallel(gpt(**more), mesh)
        found["tensor_parallel" + name] = differs(all_rows(model), model, alone)
    alone = single()
    for schedule in by.SCHEDULES:
        stage = by.stage_of(gpt(), mesh)
        losses = in_a_pipeline(stage, mesh, schedule)[1]()
        found[f"pipeline, {schedule}"] = differs(sum(losses) if losses else alone[0], stage, alone)
    return found


def two_kinds():
    """Four workers as two by two."""
    mesh, alone, found = by.mesh_of(data=2, model=2), single(), {}
    model = by.fully_sharded(by.tensor_parallel(gpt(), mesh["model"]), mesh["data"])
    found["fully sharded and tensor parallel"] = differs(by_rows(model, mesh["data"]), model, alone)
    stage = by.stage_of(gpt(), mesh["model"])
    both = by.data_parallel(stage, mesh["data"])
    rows = [by.rows_of(one, mesh["data"]) for one in data()]
    weight = by.token_weight(counted(rows[1]), mesh["data"])
    losses = in_a_pipeline(both, mesh["model"], "1F1B", rows, weight, micro_batches=2)[1]()
    value = over_all(sum(losses), mesh["data"]) if losses else alone[0]
    found["data parallel and a pipeline"] = differs(value, both, alone)
    return found


def moved_and_held(p):
    """Bytes that left this worker in one forward and backward, and those that it holds behind one step of Adam."""
    mesh, found = by.mesh_of(all=p), {}

    def measured(name, model, run, parameters=None):
        with Traffic() as traffic:
            run()
        optimizer = torch.optim.Adam(model.parameters())
        optimizer.step()
        averages = [v for one in optimizer.state.values() for k, v in one.items() if k != "step"]
        slopes = [one.grad for one in model.parameters()]
        held = [by.bytes_held(some) for some in (model.parameters(), slopes, averages)]
        found[name] = {"moved": traffic.bytes(), "kinds": [one.kind for one in traffic.sent], "held": held}

    for kind in (by.data_parallel, by.fully_sharded):
        model = kind(gpt(**EVEN), mesh)
        measured(kind.__name__, model, lambda model=model: by_rows(model, mesh))
    model = by.tensor_parallel(gpt(**EVEN), mesh)
    measured("tensor_parallel", model, lambda: all_rows(model))
    stage = by.stage_of(gpt(**EVEN), mesh)
    step = in_a_pipeline(stage, mesh, "1F1B")[1]
    step()  # the first one asks for shapes, too
    measured("pipeline", stage, step)
    return found


def order_of_a_pipeline(p):
    """What this worker really does, in its order: i for the forward of micro-batch i, -i for its backward."""
    mesh, found = by.mesh_of(all=p), {}
    for schedule in by.SCHEDULES:
        stage = by.stage_of(gpt(), mesh)
        way, step = in_a_pipeline(stage, mesh, schedule)
        step()
        seen, mine = [], way._stage
        forward, backward = mine.forward_one_chunk, mine.backward_one_chunk

        def noted_forward(i, *rest, forward=forward, seen=seen, **more):
            seen.append(i + 1)
            return forward(i, *rest, **more)

        def noted_backward(i, *rest, backward=backward, seen=seen, **more):
            seen.append(-i - 1)
            return backward(i, *rest, **more)

        mine.forward_one_chunk, mine.backward_one_chunk = noted_forward, noted_backward
        step()
        found[schedule] = seen
    return found


def averages_of(optimizer):
    return [value for one in optimizer.state.values() for key, value in one.items() if key != "step"]


def states_that_are_shared(p):
    """Three steps of AdamW whose state is sharded, and of one process with the same gradients."""
    mesh, alone = by.mesh_of(all=p), gpt(**EVEN)
    model = by.data_parallel(gpt(**EVEN), mesh)
    shared = by.sharded_optimizer(model, mesh, lr=0.1, weight_decay=0.1)
    whole = torch.optim.AdamW(alone.parameters(), lr=0.1, weight_decay=0.1)
    for _ in range(3):
        shared.zero_grad()
        by_rows(model, mesh)
        for one, other in zip(alone.parameters(), model.parameters(), strict=True):
            one.grad = other.grad.clone()
        shared.step()
        whole.step()
    same = all(map(torch.equal, alone.parameters(), model.parameters()))
    held = by.bytes_held(averages_of(shared.optim)), by.bytes_held(averages_of(whole))
    return {"same": same, "held": held, "kind": type(shared.optim).__name__}


def clipped(p):
    """The length of the gradients of each kind, and the gradients shortened to a tenth of it."""
    mesh, found = by.mesh_of(all=p), {}
    alone = gpt()
    all_rows(alone)
    right = float(torch.nn.utils.clip_grad_norm_(alone.parameters(), float("inf")))
    expected = {name: one / 10 for name, one in by.whole_gradients(alone).items()}

    def measured(name, model, stages=None):
        norm = clip_gradients(model, right / 10, stages)
        far = max(float((one - expected[key]).abs().max()) for key, one in by.whole_gradients(model).items())
        after = float(gradient_norm(model, stages))
        found[name] = {"norm": float(norm), "right": right, "gradient": far, "after": after}

    for kind in (by.data_parallel, by.fully_sharded):
        model = kind(gpt(), mesh)
        by_rows(model, mesh)
        measured(kind.__name__, model)
    model = by.tensor_parallel(gpt(), mesh)
    all_rows(model)
    measured("tensor_parallel", model)
    stage = by.stage_of(gpt(), mesh)
    in_a_pipeline(stage, mesh, "1F1B")[1]()
    measured("pipeline", stage, mesh)
    if p == 4:
        mesh = by.mesh_of(data=2, model=2)
        model = by.fully_sharded(by.tensor_parallel(gpt(), mesh["model"]), mesh["data"])
        by_rows(model, mesh["data"])
        measured("fully sharded and tensor parallel", model)
    return found


def computed_in(p):
    """The dtypes of a fully sharded model that computes in bfloat16: inside a map, and of what is held and moved."""
    mesh, seen = by.mesh_of(all=p), set()
    model = by.fully_sharded(gpt(**EVEN).float(), mesh, torch.bfloat16)
    network = model.blocks[0].feed_forward.W_1
    network.register_forward_hook(
        lambda map, given, made: seen.update((map.weight.dtype, given[0].dtype, made.dtype))
    )
    with Traffic() as traffic:
        by_rows(model, mesh)
    optimizer = torch.optim.Adam(model.parameters())
    optimizer.step()
    tensors = [*model.parameters(), *(one.grad for one in model.parameters()), *averages_of(optimizer)]
    alone = single(**EVEN)[1]
    gradients = by.whole_gradients(model)
    far = sum(float((one - alone[name]).square().sum()) for name, one in gradients.items())
    size = sum(float(one.square().sum()) for one in alone.values())
    return {
        "inside": sorted(map(str, seen)),
        "held": sorted({str(one.dtype) for one in tensors}),
        "far": (far / size) ** 0.5,
        "gathered": traffic.bytes("all-gather"),
        "scattered": traffic.bytes("reduce-scatter"),
    }


def fully_sharded_with_adam(p):
    model = by.fully_sharded(gpt(), by.mesh_of(all=p))
    return model, torch.optim.Adam(model.parameters(), lr=1e-3)


def whole_state(model, optimizer):
    """All parameters and averages, gathered."""
    found = {}
    for name, one in model.named_parameters():
        found[name] = by.whole(one).detach()
        for key in ("exp_avg", "exp_avg_sq"):
            found[f"{name} {key}"] = by.whole(optimizer.state[one][key])
    return found


def writes_shards(p, folder):
    model, optimizer = fully_sharded_with_adam(p)
    for _ in range(2):
        optimizer.zero_grad()
        by_rows(model, by.mesh_of(all=p))
        optimizer.step()
    save_shards(folder / "shards", model, optimizer)
    state = whole_state(model, optimizer)
    if dist.get_rank() == 0:
        torch.save(state, folder / "whole.pt")


def reads_shards(p, folder):
    """Read by p workers it is what was written, and the next step is that of a single process with all of it."""
    model, optimizer = fully_sharded_with_adam(p)
    load_shards(folder / "shards", model, optimizer)
    before, now = torch.load(folder / "whole.pt"), whole_state(model, optimizer)
    same = before.keys() == now.keys() and all(torch.equal(before[name], now[name]) for name in before)
    alone = gpt()
    alone.load_state_dict({name: before[name] for name in alone.state_dict() if name in before}, strict=False)
    value = all_rows(alone)
    return {"same": same} | differs(
        by_rows(model, by.mesh_of(all=p)), model, (value.item(), by.whole_gradients(alone))
    )


def goes_on(p, folder):
    """A training with a sharded optimiser is stopped and goes on: as one that was not, and as one process."""

    def trained(steps, workers, folder=None):
        model, tokens = gpt(), np.random.default_rng(0).integers(0, VOCAB, 400).astype(np.uint16)
        rows, options = TokenRows(tokens, n=N, batch=8), {"lr": 1e-3, "eps": 1e-3}
        optimizer = (
            by.sharded_optimizer(model, by.mesh_of(all=p), torch.optim.Adam, **options)
            if workers
            else torch.optim.Adam(model.parameters(), **options)
        )
        fit(
            model,
            pretraining.loss,
            rows,
            steps=steps,
            optimizer=optimizer,
            workers=workers,
            folder=folder,
            keep_every=2,
        )
        return model

    trained(2, WorkerGroup(), folder / "stopped")
    dist.barrier()
    found, whole = trained(4, WorkerGroup(), folder / "stopped"), trained(4, WorkerGroup())
    pairs = zip(found.parameters(), trained(4, None).parameters(), strict=True)
    far = max(float((one - other).detach().abs().max()) for one, other in pairs)
    return {"same": all(map(torch.equal, found.parameters(), whole.parameters())), "far": far}


def fits(p):
    """Some steps of `fit`, shared and alone: a batch of 6 rows is 2, 2, 1 and 1 for four workers."""

    def losses(workers):
        model, tokens = gpt(), np.random.default_rng(0).integers(0, VOCAB, 400).astype(np.uint16)
        rows, optimizer = TokenRows(tokens, n=N, batch=6), torch.optim.SGD(model.parameters(), lr=0.1)
        return model, fit(
            model,
            pretraining.loss,
            rows,
            steps=3,
            optimizer=optimizer,
            clip=1.0,
            accumulate=2,
            workers=workers,
        )

    (model, found), (alone, expected) = losses(WorkerGroup()), losses(None)
    pairs = zip(model.parameters(), alone.parameters(), strict=True)
    far = max(float((one - other).detach().abs().max()) for one, other in pairs)
    loss = max(abs(one - other) for one, other in zip(found, expected, strict=True))
    return {"loss": loss, "parameters": far, "steps": len(found)}


def work(folder):
    folder, p = Path(folder), dist.get_world_size()
    found = {"kinds": kinds(p), "moved": moved_and_held(p), "order": order_of_a_pipeline(p), "fits": fits(p)}
    found |= {"states": states_that_are_shared(p), "clipped": clipped(p), "computed in": computed_in(p)}
    if p == 2:
        found["goes on"] = goes_on(p, folder)
    if p == 4:
        found["kinds"] |= two_kinds()
        writes_shards(p, folder)
    found["shards"] = reads_shards(p, folder)
    (folder / f"{p}-{dist.get_rank()}.json").write_text(json.dumps(found))
