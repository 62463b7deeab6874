"""The products of a training step by oneDNN, which on some processors is twice as fast as PyTorch's default.

Chapter 5 counts what a step costs. On a CPU PyTorch multiplies float32 matrices by Intel's MKL, which uses the widest
instructions only on Intel's processors; oneDNN, which PyTorch contains as well, uses those of every processor. Both sum
in float32, but in another order, so a result may differ in its last bits.
"""

from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

LEAST = 2**24  # multiplications from which on a product gains more than the call costs
PLAIN = (Tensor, nn.Parameter)


def has_onednn() -> bool:
    """Whether this PyTorch has the operator."""
    return torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def is_intels() -> bool:
    """Whether the processor is one of Intel's, on which MKL is the faster (where Linux says whose it is)."""
    file = Path("/proc/cpuinfo")
    return file.is_file() and "GenuineIntel" in file.read_text()


def _by_onednn(X: Tensor, W: Tensor, b: Tensor | None = None) -> Tensor:
    """X W^T + b."""
    return torch.ops.mkldnn._linear_pointwise(X, W, b, "none", [], "")


class _Linear(torch.autograd.Function):
    """`torch.nn.functional.linear` with its two derivatives (eq-linear-map)."""

    @staticmethod
    def forward(ctx: Any, X: Tensor, W: Tensor, b: Tensor | None) -> Tensor:
        ctx.save_for_backward(X, W)
        return _by_onednn(X, W, b)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dY: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        X, W = ctx.saved_tensors
        of_X, of_W, of_b = ctx.needs_input_grad
        rows = dY.flatten(0, -2)
        dX = _by_onednn(dY.contiguous(), W.T) if of_X else None
        dW = _by_onednn(rows.T, X.flatten(0, -2).T) if of_W else None
        return dX, dW, rows.sum(0) if of_b else None


def gains(X: Any, W: Any, b: Any = None) -> bool:
    """Whether the product is large, and of plain float32 tensors on a CPU."""
    return (
        type(X) in PLAIN
        and type(W) in PLAIN
        and type(b) in (*PLAIN, type(None))
        and X.dtype == W.dtype == torch.float32
        and X.device.type == W.device.type == "cpu"
        and X.dim() > 1
        and X.numel() * len(W) >= LEAST
    )


def product(layer: nn.Linear, X: Tensor) -> Tensor:
    """The map of a layer, by oneDNN where that gains something."""
    if gains(X, layer.weight, layer.bias) and _eager():
        return _Linear.apply(X, layer.weight, layer.bias)  # type: ignore[return-value]
    return F.linear(X, layer.weight, layer.bias)


def multiply_by_onednn(model: nn.Module) -> None:
    """From now on large float32 products of the model's `nn.Linear` on a CPU and their derivatives are by oneDNN.

    The layers stay what they are, with their names and hooks; an adapter or a parametrised layer is left alone. Under
    `torch.compile`, autocast, and the transforms of `torch.func` nothing changes.

    >>> layer, X = nn.Linear(256, 256), torch.randn(300, 256)
    >>> before = layer(X)
    >>> multiply_by_onednn(layer)
    >>> torch.allclose(layer(X), before, atol=1e-5)
    True
    """
    if has_onednn():
        modules: Any = model.modules()
        for module in modules:
            if type(module) is nn.Linear and "forward" not in module.__dict__:
                module.forward = partial(product, module)  # type: ignore[assignment]


def _eager() -> bool:
    """Whether a product is computed at once, as it is written."""
    return not (
        torch.compiler.is_compiling()
        or torch.is_autocast_enabled("cpu")
        or torch._C._functorch.peek_interpreter_stack() is not None  # type: ignore[attr-defined]
    )
