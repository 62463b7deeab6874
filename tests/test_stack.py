"""The stack for toy tasks, its training, and which of its heads matter (book: permutation, heads-at-work)."""

import numpy as np
import pytest
import torch

from attnlib.data.anomaly import set_anomaly
from attnlib.data.offsets import retrieve_offsets
from attnlib.data.tasks import look_back
from attnlib.interpret.capture import capture
from attnlib.interpret.importance import (
    all_gated,
    attentions,
    importance_by_ablation,
    importance_by_gradient,
)
from attnlib.interpret.patterns import mass_on
from attnlib.models.stack import Stack, stack_config
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.nn.positional import sinusoids
from attnlib.testing import assert_close
from attnlib.train.toy import TEST_SEED, answer_accuracy, answer_scores, examples, train_stack

B, N, VOCAB, OUT, D, H, L = 3, 7, 11, 13, 6, 2, 5
POSITIONS = ("none", "index", "normalised", "sinusoids", "learned")


def tiny(**options: object) -> Stack:
    torch.manual_seed(0)
    sizes = {"d_model": D, "n_heads": H, "n_layers": 2, "context": N}
    return Stack(stack_config(VOCAB, OUT, **{**sizes, **options})).double()  # type: ignore[arg-type]


def tokens(n: int = N) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(1).integers(VOCAB, size=(B, n)))


# --- the stack -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize(
    "options", [{}, {"d_hidden": 17, "norm": True}, {"residual": False, "n_kv_heads": 1}]
)
def test_a_stack_gives_scores_at_every_position_and_prints_nothing(positions, options, capsys):
    model = tiny(positions=positions, **options)
    assert model(tokens()).shape == (B, N, OUT)
    assert capsys.readouterr().out == ""


def test_without_positions_permuted_tokens_give_permuted_scores():
    model, order = tiny(positions="none", d_hidden=17, norm=True), torch.randperm(N)
    assert_close(model(tokens()[:, order]), model(tokens())[:, order], "float64")


@pytest.mark.parametrize("positions", [kind for kind in POSITIONS if kind != "none"])
def test_positions_break_the_symmetry(positions: str):
    model, order = tiny(positions=positions), torch.arange(N).flip(0)
    assert (model(tokens()[:, order]) - model(tokens())[:, order]).abs().max() > 1e-3


def test_a_plain_index_is_added_to_every_coordinate():
    X = torch.randn(2, N, 4)
    placed = tiny(positions="index").places(X)
    torch.testing.assert_close(placed, X + torch.arange(N, dtype=X.dtype)[:, None])


def test_a_layer_norm_before_attention_hides_a_plain_index():
    """The index adds one number to all coordinates, and a layer norm subtracts the mean of all coordinates."""
    hidden, order = tiny(positions="index", norm=True, residual=False), torch.randperm(N)
    assert_close(hidden(tokens()[:, order]), hidden(tokens())[:, order], "float64")


@pytest.mark.parametrize("positions", ["index", "normalised"])
def test_with_a_plain_index_scores_are_a_straight_line_in_the_key(positions: str):
    """So among equal tokens the first layer looks most at an end, whatever its weights: never three steps back."""
    model = tiny(positions=positions)
    with capture(model) as seen:
        model(torch.zeros(1, N, dtype=torch.long))
    steps = seen["blocks.0.attention.P"].log().diff(dim=-1)
    assert_close(steps, steps[..., :1].expand_as(steps), "float32")
    curved = tiny(positions="sinusoids")
    with capture(curved) as seen:
        curved(torch.zeros(1, N, dtype=torch.long))
    assert seen["blocks.0.attention.P"].log().diff(n=2, dim=-1).abs().max() > 1e-3


def test_a_causal_stack_never_sees_what_comes_later():
    model, t = tiny(causal=True, d_hidden=17, norm=True), tokens()
    later = t.clone()
    later[:, 4:] = (later[:, 4:] + 1) % VOCAB
    assert torch.equal(model(t)[:, :4], model(later)[:, :4])
    assert not torch.equal(model(t)[:, 4:], model(later)[:, 4:])


def test_the_number_of_parameters_does_not_depend_on_the_heads():
    def parameters(**options):
        return sum(p.numel() for p in tiny(d_model=12, **options).parameters())

    assert parameters(n_heads=1) == parameters(n_heads=4) > parameters(n_heads=4, n_kv_heads=1)


def test_the_stack_explains_what_it_cannot_do():
    with pytest.raises(ValueError, match="positions must be one of learned, rotary, .*; got 'clock'"):
        stack_config(VOCAB, OUT, positions="clock")
    with pytest.raises(ValueError, match="every token needs a position; got 8 tokens for context=7"):
        tiny()(tokens(N + 1))


@pytest.mark.parametrize("kind", ["learned", "sinusoids", "index", "normalised"])
def test_positions_are_added_to_the_tokens(kind):
    model = tiny(positions=kind)
    with capture(model) as seen:
        model(tokens())
    n, d = seen["embed"].shape[-2:]
    table = {
        "learned": lambda: model.places.weight[:n],
        "sinusoids": lambda: sinusoids(n, d),
        "index": lambda: torch.arange(n).double()[:, None],
        "normalised": lambda: torch.linspace(0, 1, n).double()[:, None],
    }[kind]()
    assert_close(seen["places"], seen["embed"] + table, "float32")


def test_behind_the_last_row_of_a_table_no_token_can_be_placed():
    with pytest.raises(ValueError, match="learned positions: .* build the model with a larger `context`"):
        tiny()(tokens(N + 1))


def test_rows_of_a_table_that_no_text_reached_stay_as_they_were():
    torch.manual_seed(0)
    config = stack_config(OUT, OUT, d_model=8, context=9)
    first = Stack(config).places.weight.detach()  # the same seed as in training
    model = train_stack(config, lambda seed: look_back(5, 6, OUT, 2, seed=seed), steps=3, seed=0)
    moved = (model.places.weight.detach() - first).abs().amax(dim=1)
    assert (moved[:6] > 0).all() and (moved[6:] == 0).all()


# --- training on a task --------------------------------------------------------------------------------------------


def test_examples_put_the_answers_beside_their_scores():
    task = retrieve_offsets(B, N, 5, (-1, 2), seed=1)
    data = examples(task)

    class Truth(torch.nn.Module):
        """Says the truth: one at the right symbol of each slot."""

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.one_hot(torch.from_numpy(task.target), 5).flatten(-2).float()

    assert answer_scores(Truth(), data).shape == (task.mask.sum() * 2, 5)
    assert answer_accuracy(Truth(), data) == 1


def test_the_answer_of_a_set_is_one_of_its_items():
    task = set_anomaly(B, N, 3, 5, seed=1)
    data = examples(task)
    assert (data.tokens[torch.arange(B), data.answers].numpy() == task.target).all()
    assert answer_scores(Stack(stack_config(15, 1, d_model=D)), data).shape == (B, N)


@pytest.mark.training
def test_one_layer_learns_to_look_back_and_looks_where_it_should():
    config = stack_config(5, 5, d_model=16, context=N)
    model = train_stack(config, lambda seed: look_back(32, N, 5, 2, seed=seed), steps=200, lr=1e-2)
    task = look_back(200, N, 5, 2, seed=TEST_SEED)
    with capture(model) as seen:
        assert answer_accuracy(model, examples(task)) > 0.95
    assert mass_on(seen["blocks.0.attention.P"][:, 0].double().numpy(), task.weights) > 0.8


def test_a_seed_fixes_a_training():
    def trained(seed):
        return train_stack(
            stack_config(5, 5, d_model=D), lambda s: look_back(B, N, 5, 2, seed=s), steps=3, seed=seed
        )

    data = examples(look_back(B, N, 5, 2))
    assert torch.equal(trained(1)(data.tokens), trained(1)(data.tokens))
    assert not torch.equal(trained(1)(data.tokens), trained(2)(data.tokens))


# --- which heads matter --------------------------------------------------------------------------------------------


def mean_square(model: Stack):
    return lambda: (model(tokens()) ** 2).mean()


def test_captured_weights_of_a_stack_have_an_axis_of_heads():
    model = tiny(causal=True)
    with capture(model) as seen:
        model(tokens())
    for layer in range(2):
        P = seen[f"blocks.{layer}.attention.P"]
        assert P.shape == (B, H, N, N)
        assert_close(P.sum(-1), torch.ones(B, H, N), "float32")
        assert (P.triu(1) == 0).all()


def test_gates_of_one_change_nothing_and_gates_of_zero_remove_attention():
    model = tiny()
    whole = model(tokens())
    with all_gated(model, torch.ones(2, H).double()):
        assert torch.equal(model(tokens()), whole)
    with all_gated(model, torch.zeros(2, H).double()):
        embedded = model.places(model.embed(tokens()))
        biases = sum(layer.W_O.bias for layer in attentions(model))
        assert_close(model(tokens()), model.scores(embedded + biases), "float64")
    assert torch.equal(model(tokens()), whole)


def test_importance_by_ablation_is_the_loss_without_the_head():
    model = tiny()  # float64, as the gates must be then
    I = importance_by_ablation(model, mean_square(model))
    before = mean_square(model)()
    columns = slice(D // H, None)  # what the second head writes to
    with torch.no_grad():
        attentions(model)[0].W_O.weight[:, columns] = 0
    assert I.shape == (2, H)
    assert_close(I[0, 1], mean_square(model)() - before, "float64")


def test_importance_by_gradient_equals_finite_differences_of_each_input():
    model, step = tiny(), 1e-5
    I = importance_by_gradient(model, mean_square(model), B)

    def with_gate(b: int, l: int, h: int, value: float) -> float:
        gates = torch.ones(2, B, H).double()
        gates[l, b, h] = value
        with all_gated(model, gates), torch.no_grad():
            return float(mean_square(model)())

    for l in range(2):
        for h in range(H):
            slopes = [
                (with_gate(b, l, h, 1 + step) - with_gate(b, l, h, 1 - step)) / (2 * step) for b in range(B)
            ]
            assert_close(I[l, h], np.abs(slopes).sum(), "central difference")


def test_the_heads_of_a_single_layer_have_their_importance_too():
    model = tiny(n_layers=1)
    for I in (
        importance_by_ablation(model, mean_square(model)),
        importance_by_gradient(model, mean_square(model), B),
    ):
        assert I.shape == (1, H) and (I != 0).all()


def test_importance_of_a_model_in_single_precision_is_in_single_precision():
    model = tiny().float()
    assert importance_by_ablation(model, mean_square(model)).dtype == torch.float32
    assert importance_by_gradient(model, mean_square(model), B).dtype == torch.float32


def test_heads_are_asked_of_a_model_that_has_them():
    with pytest.raises(ValueError, match="must have MultiHeadAttention layers .*; got 0 layers"):
        attentions(torch.nn.Linear(2, 2))
    uneven = torch.nn.ModuleList(MultiHeadAttention(d_model=D, n_heads=h) for h in (2, 3))
    with pytest.raises(ValueError, match=r"got 2 layers, n_heads \[2, 3\]"):
        attentions(uneven)
    one = [torch.ones(H)]
    with (
        pytest.raises(ValueError, match="each of the 2 layers needs its gates; got 1"),
        all_gated(tiny(), one),
    ):
        pass
