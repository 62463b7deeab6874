"""The twin of `attnlib.reference.activations`: activation functions by PyTorch's own operators.

Chapter 4 compares them.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from attnlib.shapes import Float, checked


@checked
def relu(A: Float[Tensor, "*s"]) -> Float[Tensor, "*s"]:
    """Negative numbers become zero."""
    return F.relu(A)


@checked
def gelu(A: Float[Tensor, "*s"]) -> Float[Tensor, "*s"]:
    """x times the probability that a standard normal number lies below x."""
    return F.gelu(A)


@checked
def gelu_tanh(A: Float[Tensor, "*s"]) -> Float[Tensor, "*s"]:
    """The form that GPT-2 uses: a tanh in place of the normal distribution."""
    return F.gelu(A, approximate="tanh")


@checked
def swish(A: Float[Tensor, "*s"]) -> Float[Tensor, "*s"]:
    """x times the sigmoid of x; PyTorch calls it SiLU."""
    return F.silu(A)


@checked
def sigmoid(A: Float[Tensor, "*s"]) -> Float[Tensor, "*s"]:
    """Between zero and one."""
    return torch.sigmoid(A)
