"""A training in half the bits, and one that keeps less: what stays in float32, what is skipped, what is counted."""

import copy

import pytest
import torch
from torch import nn

from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT
from attnlib.testing import assert_close
from attnlib.train.fit import fit
from attnlib.train.memory import block_bytes, recompute, saved_bytes
from attnlib.train.training import Training, TrainingStopped

VOCAB, N, BATCH = 29, 17, 2


def gpt(seed=0, **more):
    torch.manual_seed(seed)
    return GPT(ModelConfig(VOCAB, context=N, d_model=24, n_heads=3, tied=False, **{"n_layers": 2, **more}))


def rows(seed=0):
    return torch.randint(VOCAB, (BATCH, N + 1), generator=torch.Generator().manual_seed(seed))


def loss(model, rows):
    return nn.functional.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())


# ---- Autocast -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16], ids=str)
def test_half_the_bits_in_the_products_and_float32_in_what_is_kept(half):
    model, heard = gpt(), []
    model.blocks[0].attention.W_Q.register_forward_hook(lambda *said: heard.append(said[2].dtype))
    optimizer = torch.optim.Adam(model.parameters())
    fit(model, loss, [rows()] * 3, steps=3, optimizer=optimizer, autocast=half)
    assert heard == [half] * 3
    kept = [*model.parameters(), *(one.grad for one in model.parameters())]
    kept += [state[name] for state in optimizer.state.values() for name in ("exp_avg", "exp_avg_sq")]
    assert {one.dtype for one in kept} == {torch.float32}


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16], ids=str)
def test_the_loss_in_half_the_bits_is_near_that_in_float32_and_not_the_same(half):
    losses = [fit(gpt(), loss, [rows()] * 20, steps=20, autocast=one) for one in (None, half)]
    assert losses[0] != losses[1]
    assert_close(losses[1], losses[0], "bfloat16")
    assert losses[0][-1] < losses[0][0] - 0.5


def one_weight(scale):
    """A training of one weight w with the loss 3 w, in float16 with a loss scale."""
    model = nn.Linear(1, 1, bias=False)
    nn.init.ones_(model.weight)
    way = Training(
        model, lambda model, x: 3 * model(x).float().sum(), iter([torch.ones(1, 1)] * 9), steps=9,
        optimizer=torch.optim.SGD(model.parameters(), lr=1.0), schedule=None, clip=2.0, autocast=torch.float16,
    )  # fmt: skip
    way.scaler = torch.amp.GradScaler("cpu", init_scale=scale)
    return way


def test_the_gradient_is_clipped_behind_the_scale():
    """A gradient of 3 becomes one of 2, whatever the scale; clipped before, it would be 2 / 1024."""
    way = one_weight(1024.0)
    way.one_step()
    assert_close(way.model.weight, torch.tensor([[-1.0]]), "float32")


def test_a_step_that_is_too_large_for_float16_is_left_out_and_the_scale_falls():
    way = one_weight(2.0**17)  # 3 times it is above 65504
    for step, (scale, weight) in enumerate(((2.0**16, 1.0), (2.0**15, 1.0), (2.0**14, 1.0), (2.0**14, -1.0))):
        way.one_step()
        assert (way.scaler.get_scale(), way.model.weight.item()) == (scale, pytest.approx(weight)), step


def test_what_no_scale_can_help_stops_the_training():
    way = one_weight(4.0)
    way.model.weight.register_hook(lambda slope: slope * torch.inf)
    way.one_step()
    way.one_step()
    with pytest.raises(TrainingStopped, match="loss and gradient must be finite"):
        way.one_step()


def test_other_formats_are_refused():
    with pytest.raises(ValueError, match="fit: autocast must be None or one of"):
        fit(gpt(), loss, [rows()], steps=1, autocast=torch.float64)


# ---- Recomputed -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_recomputed_gradients_are_the_same_to_the_last_bit(dropout):
    plain = gpt(dropout=dropout)
    again = copy.deepcopy(plain)
    recompute(again.blocks)
    for model in (plain, again):
        torch.manual_seed(1)
        loss(model, rows()).backward()
    for one, other in zip(plain.parameters(), again.parameters(), strict=True):
        assert torch.equal(one.grad, other.grad)
    assert list(plain.state_dict()) == list(again.state_dict())


@pytest.mark.parametrize("layers", [1, 2, 5])
def test_what_is_kept_is_what_the_formula_says(layers):
    """A block by block_bytes, or its input alone; beside them the last norm and the numbers of the tokens."""
    model, tokens = gpt(n_layers=layers), BATCH * N
    entering = 4 * tokens * 24
    beside = entering + 2 * 4 * tokens + 8 * tokens
    text = rows()[:, :-1].contiguous()
    run = lambda: model.hidden(text)  # noqa: E731
    assert saved_bytes(run, model) == layers * block_bytes(tokens, 24, 3, 96) + beside
    recompute(model.blocks)
    assert saved_bytes(run, model) == layers * entering + beside


def test_a_recomputed_model_still_generates_with_a_cache():
    model = gpt().eval()
    text = rows()[:, :9]
    before = model.predictor()(text)
    recompute(model.blocks)
    predictor = model.predictor()
    predictor(text[:, :5])
    assert_close(predictor(text), before, "float32")
