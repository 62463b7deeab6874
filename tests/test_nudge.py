"""A training can begin a millionth away, for all optimisers, without a word in its code (book: small-numbers)."""

import subprocess
import sys

import pytest
import torch

from attnlib.testing import assert_close
from attnlib.train import nudge

CODE = """
import torch
{first}
torch.manual_seed(0)
layer = torch.nn.Linear(3, 2)
layer(torch.ones(1, 3)).sum().backward()
torch.optim.SGD(layer.parameters(), lr=0.0).step()
print(layer.weight.double().sum().item())
"""


def told(seed, first="import attnlib"):
    env = {"ATTNLIB_NUDGE": seed} if seed else {}
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(first=first)], capture_output=True, text=True, check=True, env=env
    )
    return float(done.stdout)


def test_the_environment_switches_it_on_and_nothing_else():
    plain = told("", first="")
    assert told("") == plain
    one, other = told("1"), told("2")
    assert plain != one != other != plain
    assert abs(one - plain) < 1e-5 > abs(other - plain)
    assert told("1") == one


@pytest.fixture
def switched_on(monkeypatch):
    monkeypatch.setenv("ATTNLIB_NUDGE", "3")
    hook = nudge.switch_on()
    yield
    hook.remove()


def layer_and_optimizer(kind=torch.optim.Adam):
    torch.manual_seed(0)
    layer = torch.nn.Linear(50, 40)
    layer(torch.ones(1, 50)).square().sum().backward()
    return layer, kind(layer.parameters(), lr=0.0)


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW])
def test_each_number_moves_by_a_millionth_once(switched_on, kind):
    layer, optimizer = layer_and_optimizer(kind)
    before = layer.weight.detach().clone()
    optimizer.step()
    after = layer.weight.detach().clone()
    draws = (after / before - 1) / nudge.SIZE
    assert 0.9 < float(draws.std()) < 1.1 and abs(float(draws.mean())) < 0.1
    optimizer.step()
    assert torch.equal(layer.weight, after)


def test_equal_trainings_stay_equal(switched_on):
    made = [layer_and_optimizer() for _ in range(2)]
    for _, optimizer in made:
        optimizer.step()
    assert torch.equal(made[0][0].weight, made[1][0].weight)


def test_a_training_that_goes_on_is_not_nudged_again(switched_on):
    layer, optimizer = layer_and_optimizer()
    optimizer.step()
    kept = layer.weight.detach().clone()
    again = torch.optim.Adam(layer.parameters(), lr=0.0)
    again.load_state_dict(optimizer.state_dict())
    again.step()
    assert_close(layer.weight, kept, "float32")
    assert torch.equal(layer.weight, kept)
