"""The data parallelism that the page many-workers writes by hand trains as `DistributedDataParallel` does."""

import json
from functools import partial
from pathlib import Path

import nbformat
import pytest
import torch
import torch.distributed as dist
from copies import FRESH
from torch import nn
from torch.multiprocessing.spawn import start_processes

from attnlib.train import parallel, workers

PAGE = Path(__file__).parent.parent / "book/05-training/8-many-workers.ipynb"
D, ROWS, STEPS, P = 5, 6, 10, 2


def by_hand() -> str:
    """The cell of the page that has `watch`."""
    cells = nbformat.read(PAGE, as_version=4).cells
    return next(cell.source for cell in cells if cell.cell_type == "code" and "def watch(" in cell.source)


def network(seed):
    """Several buckets, and one map that is not learned."""
    torch.manual_seed(seed)
    model = nn.Sequential(
        nn.Linear(D, 11), nn.Tanh(), nn.Linear(11, 11), nn.Tanh(), nn.Linear(11, 1)
    ).double()
    model[2].requires_grad_(False)
    return model


def ten_steps(folder, code):
    """Each worker begins with parameters of its own and reads rows of its own, with both."""
    rank, page = dist.get_rank(), {"torch": torch, "dist": dist}
    exec(code, page)
    mine, theirs = network(seed=rank), network(seed=rank)
    wait = page["watch"](mine, most=20, notes=[])
    theirs = parallel.data_parallel(theirs, parallel.mesh_of(data=P))
    optimizers = [
        torch.optim.Adam(filter(lambda one: one.requires_grad, one.parameters())) for one in (mine, theirs)
    ]
    X = torch.randn(STEPS, ROWS, D, generator=torch.Generator().manual_seed(7 + rank), dtype=torch.float64)
    far = []
    for step in range(STEPS):
        for model, optimizer, finish in zip((mine, theirs), optimizers, (wait, lambda: None), strict=True):
            optimizer.zero_grad()
            model(X[step]).square().mean().backward()
            finish()
            optimizer.step()
        pairs = zip(mine.parameters(), theirs.parameters(), strict=True)
        far.append(max(float((one - other).detach().abs().max()) for one, other in pairs))
    moved = float((mine[0].weight - network(seed=0)[0].weight).detach().abs().max())
    frozen = torch.equal(mine[2].weight, network(seed=0)[2].weight)
    (folder / f"{rank}.json").write_text(json.dumps([far, moved, frozen]))


def test_ten_steps_of_it_equal_those_of_pytorch(tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "spawn", partial(start_processes, start_method=FRESH.get_start_method()))
    workers.together(P, ten_steps, tmp_path, by_hand())
    for rank in range(P):
        far, moved, frozen = json.loads((tmp_path / f"{rank}.json").read_text())
        assert len(far) == STEPS and far == pytest.approx([0.0] * STEPS, abs=1e-12)
        assert moved > 1e-3 and frozen
