"""What a step asks of a machine, counted, against the formulas and by hand (book: where-the-time-goes)."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attnlib.models import costs
from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT
from attnlib.train.operations import Operations

CONFIG = ModelConfig(vocab=37, context=11, d_model=20, n_heads=5, n_layers=2)
B, N = 3, 7
PRODUCTS = ("mm", "addmm", "bmm", "_scaled_dot_product_flash_attention_for_cpu")


def counted(work) -> Operations:
    with Operations() as found:
        work()
    return found


def test_the_products_of_a_forward_pass_are_those_of_the_formula():
    torch.manual_seed(0)
    model, tokens = GPT(CONFIG), torch.randint(37, (B, N))
    with torch.no_grad():
        found = counted(lambda: model(tokens)).all
    products = [one for one in found if one.name in PRODUCTS]
    assert sum(one.flops for one in products) == 2 * B * costs.multiplications(CONFIG, N)


def test_backward_attention_is_five_products_for_two():
    Q, K, V = (torch.randn(2, 3, n, 4, requires_grad=True) for n in (5, 7, 7))
    found = counted(lambda: F.scaled_dot_product_attention(Q, K, V).sum().backward()).all
    flops = {one.name: one.flops for one in found}
    forward = flops["_scaled_dot_product_flash_attention_for_cpu"]
    assert forward == 2 * 2 * (2 * 3 * 5 * 7 * 4)
    assert 2 * flops["_scaled_dot_product_flash_attention_for_cpu_backward"] == 5 * forward


def test_a_sum_and_a_change_in_place_are_read_and_written():
    X, b = torch.ones(3, 5), torch.ones(5)
    (added,) = counted(lambda: X + b).all
    assert added == ("add", 15, 4 * (15 + 5 + 15))
    (changed,) = counted(lambda: X.mul_(2)).all
    assert changed == ("mul_", 15, 4 * (15 + 15))


def test_another_shape_moves_nothing():
    X = torch.ones(4, 6)
    assert counted(lambda: X.view(2, 12).mT[None].detach()).all == []


@pytest.mark.parametrize("how, numbers", [("fused", 7), ("foreach", 21), ("one by one", 21)])
def test_a_step_of_adamw_moves_so_many_numbers_for_each_parameter(how, numbers):
    """Fused: four are read and three written. Else eight small ones: 2 + 3 + 2 + 4 + 2 + 2 + 2 + 4."""
    layer = nn.Linear(100, 200, bias=False)
    optimizer = torch.optim.AdamW(layer.parameters(), fused=how == "fused", foreach=how == "foreach")
    layer(torch.ones(1, 100)).sum().backward()
    optimizer.step()
    found = counted(optimizer.step).all
    moved = sum(one.moved for one in found) / (4 * layer.weight.numel())
    assert abs(moved - numbers) < 0.01
