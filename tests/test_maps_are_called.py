"""The layers call their linear maps: whatever stands in their place, or listens there, is heard."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize

from attnlib.nn.attention import AttentionLayer
from attnlib.nn.layers import CrossAttention, SelfAttention
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.testing import assert_close

B, N, M, H, D_K, D_SOURCE = 2, 3, 5, 3, 7, 11
D = H * D_K
MAPS = ("W_Q", "W_K", "W_V", "W_O")


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


class LoRA(nn.Module):
    """A frozen map and two thin ones beside it. It has no `weight`."""

    def __init__(self, frozen: nn.Linear, rank: int = 2) -> None:
        super().__init__()
        self.frozen = frozen.requires_grad_(False)
        self.down = nn.Linear(frozen.in_features, rank, bias=False, dtype=torch.float64)
        self.up = nn.Linear(rank, frozen.out_features, bias=False, dtype=torch.float64)

    def forward(self, X):
        return self.frozen(X) + self.up(self.down(X))

    def merged(self):
        """The same map as one linear map."""
        one = nn.Linear(
            self.frozen.in_features, self.frozen.out_features, self.frozen.bias is not None
        ).double()
        one.load_state_dict(self.frozen.state_dict())
        with torch.no_grad():
            one.weight += self.up.weight @ self.down.weight
        return one


class Doubled(nn.Module):
    def forward(self, W):
        return 2 * W


CASES = {
    "multi-head": (lambda: MultiHeadAttention(d_model=D, n_heads=H), [(B, M, D)]),
    "multi-head, causal, shared": (
        lambda: MultiHeadAttention(d_model=D, n_heads=H, n_kv_heads=1, causal=True),
        [(B, M, D)],
    ),
    "multi-head, crossed": (
        lambda: MultiHeadAttention(d_model=D, n_heads=H, d_source=D_SOURCE),
        [(B, M, D), (B, N, D_SOURCE)],
    ),
    "one head": (lambda: AttentionLayer(d_model=D, d_k=D_K, d_v=D), [(B, M, D)]),
    "self": (lambda: SelfAttention(d_model=D, d_k=D_K, d_v=D), [(B, M, D)]),
    "cross": (
        lambda: CrossAttention(d_model=D, d_source=D_SOURCE, d_k=D_K, d_v=D),
        [(B, M, D), (B, N, D_SOURCE)],
    ),
}
EACH = [
    pytest.param(case, name, id=f"{case}-{name}")
    for case in CASES
    for name in MAPS
    if name != "W_O" or case.startswith("multi")
]


def made(case):
    torch.manual_seed(0)
    make, shapes = CASES[case]
    module = make().double()
    return (
        module,
        module if hasattr(module, "W_Q") else module.layer,
        [draw(*s, seed=i) for i, s in enumerate(shapes)],
    )


@pytest.mark.parametrize(("case", "name"), EACH)
def test_an_adapter_counts_as_much_as_the_map_it_amounts_to(case, name):
    module, holder, inputs = made(case)
    before = module(*inputs)
    adapter = LoRA(getattr(holder, name))
    setattr(holder, name, adapter)
    with_adapter = module(*inputs)
    with_adapter.sum().backward()
    weights = module.attention_weights(*inputs)
    contributions = (
        module.contributions(*inputs) if name in "W_O W_V" and hasattr(module, "contributions") else None
    )
    setattr(holder, name, adapter.merged())
    assert_close(with_adapter, module(*inputs), "float64")
    assert_close(weights, module.attention_weights(*inputs), "float64")
    if contributions is not None:
        assert_close(contributions, module.contributions(*inputs), "float64")
    assert (with_adapter - before).abs().max() > 1e-3
    assert adapter.up.weight.grad.abs().max() > 0 and adapter.frozen.weight.grad is None


@pytest.mark.parametrize(("case", "name"), EACH)
def test_a_hook_hears_what_the_map_says_and_may_replace_it(case, name):
    module, holder, inputs = made(case)
    linear, heard = getattr(holder, name), []
    linear.register_forward_hook(lambda linear, inputs, output: heard.append((inputs[0], output)))
    before = module(*inputs)
    ((given, said),) = heard
    assert torch.equal(said, linear(given)) and len(heard) == 2
    linear.register_forward_hook(lambda linear, inputs, output: 2 * output)
    linear_twice = module(*inputs)
    assert (linear_twice - before).abs().max() > 1e-3


@pytest.mark.parametrize(("case", "name"), EACH)
def test_a_parametrised_map_is_the_one_that_is_used(case, name):
    module, holder, inputs = made(case)
    before, linear = module(*inputs), getattr(holder, name)
    parametrize.register_parametrization(linear, "weight", Doubled())
    doubled = module(*inputs)
    parametrize.remove_parametrizations(linear, "weight", leave_parametrized=True)
    assert_close(doubled, module(*inputs), "float64")
    assert (doubled - before).abs().max() > 1e-3


@pytest.mark.parametrize("kind", ["quantised", "of another class"])
def test_a_map_of_another_kind_takes_the_place(kind):
    """What quantises parameters replaces `nn.Linear` by a module that keeps whole numbers and a scale."""

    class Rounded(nn.Module):
        def __init__(self, linear):
            super().__init__()
            scale = linear.weight.detach().abs().amax(dim=1, keepdim=True) / 127
            self.register_buffer("codes", (linear.weight.detach() / scale).round().to(torch.int8))
            self.register_buffer("scale", scale)
            self.b = linear.bias

        def forward(self, X):
            return nn.functional.linear(X, self.codes.to(X.dtype) * self.scale, self.b)

    module, holder, inputs = made("multi-head")
    before = module(*inputs)
    for name in MAPS:
        linear = getattr(holder, name)
        setattr(holder, name, Rounded(linear) if kind == "quantised" else nn.Sequential(linear))
    after = module(*inputs)
    error = (after - before).abs().max()
    assert error == 0 if kind == "of another class" else 1e-6 < error < 0.05


SHARDED = """
import sys, torch, torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from attnlib.nn.cache import KVCache
from attnlib.nn.multihead import MultiHeadAttention

rank, file = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=2)
mesh = init_device_mesh("cpu", (2,))
for options in ({}, {"causal": True}, {"n_kv_heads": 2, "causal": True}, {"norm": torch.nn.RMSNorm, "d_k": 6}):
    torch.manual_seed(0)
    whole, shards = (MultiHeadAttention(d_model=16, n_heads=4, **options).double() for _ in range(2))
    shards.load_state_dict(whole.state_dict())
    plan = {name: ColwiseParallel() for name in ("W_Q", "W_K", "W_V")} | {"W_O": RowwiseParallel()}
    parallelize_module(shards, mesh, plan)
    X = torch.randn(2, 5, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    dY = torch.randn(2, 5, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    heard = []
    shards.heads.register_forward_hook(lambda heads, inputs, Z: heard.append(Z.shape[-3]))
    mine, right = X.clone().requires_grad_(), X.clone().requires_grad_()
    (shards(mine) * dY).sum().backward()
    (whole(right) * dY).sum().backward()
    assert heard == [2], f"each of two processes has two of four heads; got {heard}"
    torch.testing.assert_close(shards(X), whole(X), rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(mine.grad, right.grad, rtol=1e-10, atol=1e-12)
    for name, parameter in shards.named_parameters():
        gradient, expected = parameter.grad, whole.get_parameter(name).grad
        if hasattr(gradient, "full_tensor"):
            gradient = gradient.full_tensor()
        else:  # a norm of the heads is whole in each process, and each has heard its own heads alone
            dist.all_reduce(gradient)
        torch.testing.assert_close(gradient, expected, rtol=1e-10, atol=1e-12, msg=lambda text: f"{name}: {text}")
    if whole.causal:
        with torch.no_grad():
            cache = KVCache()
            steps = torch.cat([shards(part, kv_cache=cache) for part in X.split(2, dim=1)], dim=1)
            torch.testing.assert_close(steps, whole(X), rtol=1e-10, atol=1e-12)
            assert cache.K.shape[1] == whole.n_kv_heads // 2
print("equal")
dist.destroy_process_group()
"""


def test_two_processes_with_half_of_the_heads_each_equal_one(tmp_path):
    """Tensor parallel by PyTorch's own plans: columns of W_Q, W_K and W_V, rows of W_O."""
    script = tmp_path / "sharded.py"
    script.write_text(SHARDED)
    options = {"env": os.environ | {"OMP_NUM_THREADS": "1"}, "cwd": Path(__file__).resolve().parent.parent}
    running = [
        subprocess.Popen(
            [sys.executable, script, str(rank), tmp_path / "meeting"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )
        for rank in range(2)
    ]
    said = [process.communicate(timeout=100) for process in running]
    for process, (output, errors) in zip(running, said, strict=True):
        assert process.returncode == 0 and output.strip().endswith("equal"), errors[-2000:]
