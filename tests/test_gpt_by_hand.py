"""A language model in NumPy: its slope, and a training that goes the same way as its twin's, at its pace."""

import math
import time

import numpy as np
import pytest
import torch
from torch import nn

from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT
from attnlib.reference import gpt
from attnlib.reference.optim import BROWN_2020
from attnlib.testing import central_difference, copy_parameters
from attnlib.train.optim import decay_groups

VOCAB, N, D, HIDDEN, HEADS, LAYERS = 11, 5, 6, 7, 2, 2
STEPS, RATE, DECAY = 50, 3e-2, 0.1


def first(seed=0, **sizes):
    given = {
        "vocab": VOCAB,
        "context": N,
        "d_model": D,
        "d_hidden": HIDDEN,
        "n_layers": LAYERS,
        "spread": 0.3,
    }
    return gpt.first_parameters(np.random.default_rng(seed), **given | sizes)


def twin(parameters):
    """The model of PyTorch with the same parameters, in float64."""
    (vocab, d_model), context = parameters.E.shape, len(parameters.places)
    config = ModelConfig(
        vocab, context=context, d_model=d_model, n_heads=HEADS, n_layers=len(parameters.blocks),
        d_hidden=parameters.blocks[0].feed_forward.W_1.shape[1], activation="relu",
    )  # fmt: skip
    model = GPT(config).double()
    with torch.no_grad():
        model.embed.weight.copy_(torch.tensor(parameters.E))
        model.places.weight.copy_(torch.tensor(parameters.places))
        norms = [(model.norm, parameters.norm)]
        for block, mine in zip(model.blocks, parameters.blocks, strict=True):
            norms += [(block.norm_1, mine.norm_1), (block.norm_2, mine.norm_2)]
            copy_parameters(mine.attention, block.attention)
            copy_parameters(mine.feed_forward, block.feed_forward)
        for norm, mine in norms:
            norm.weight.copy_(torch.tensor(mine.gain))
            norm.bias.copy_(torch.tensor(mine.shift))
    return model


def loss_of(model, rows):
    scores = model(rows[:, :-1]).flatten(0, 1)
    return nn.functional.cross_entropy(scores, rows[:, 1:].flatten())


def rows_of(seed, batch=8, n=N, vocab=VOCAB):
    """Counting upwards from a random token, with a slip now and then: there is something to learn."""
    rng = np.random.default_rng(seed)
    rows = (rng.integers(vocab, size=(batch, 1)) + np.arange(n + 1)) % vocab
    return np.where(rng.random(rows.shape) < 0.1, rng.integers(vocab, size=rows.shape), rows)


def test_the_whole_model_has_its_slope():
    """Every parameter of a small one, by central differences."""
    parameters, rows = first(vocab=5, context=3, d_model=2, d_hidden=3, n_layers=1), rows_of(0, 2, 3, 5)
    _, gradients = gpt.next_token_loss(rows, parameters, HEADS)
    arrays = gpt.all_arrays(parameters)
    for i, (array, slope) in enumerate(zip(arrays, gpt.all_arrays(gradients), strict=True)):

        def moved(X, i=i):
            return gpt.next_token_loss(
                rows, gpt.with_arrays(parameters, [*arrays[:i], X, *arrays[i + 1 :]]), HEADS
            )[0]

        np.testing.assert_allclose(slope, central_difference(moved, array, np.ones(())), rtol=1e-6, atol=1e-8)


def test_scores_and_gradients_are_those_of_the_twin():
    parameters, rows = first(), rows_of(1)
    model, tokens = twin(parameters), torch.tensor(rows_of(1))
    loss, gradients = gpt.next_token_loss(rows, parameters, HEADS)
    value = loss_of(model, tokens)
    value.backward()
    assert abs(loss - value.item()) < 1e-12
    same = twin(gradients)
    for (name, parameter), (_, mine) in zip(model.named_parameters(), same.named_parameters(), strict=True):
        np.testing.assert_allclose(mine.detach(), parameter.grad, rtol=0, atol=1e-12, err_msg=name)


def test_the_stream_need_not_be_as_wide_as_the_heads_together(rng):
    parameters = first(d_model=5, n_layers=1)
    block = parameters.blocks[0]
    shapes = [(5, 8), (5, 8), (5, 8), (8, 5), 8, 8, 8, 5]
    attention = type(block.attention)(*(rng.normal(size=shape) for shape in shapes))
    wide = parameters._replace(blocks=(block._replace(attention=attention),))
    scores, _ = gpt.language_model(rows_of(0, batch=2, n=3), wide, n_heads=4)
    assert scores.shape == (2, 4, VOCAB)


def by_hand(parameters):
    """A step: rows in, the loss out."""
    learner = gpt.new_train_state(parameters)

    def step(rows):
        nonlocal learner
        loss, learner = gpt.train_step(rows, learner, HEADS, RATE, DECAY)
        return loss

    return step


def by_pytorch(parameters):
    """The same step of the twin."""
    model = twin(parameters)
    optimizer = torch.optim.AdamW(
        decay_groups(model, DECAY), lr=RATE, betas=BROWN_2020[:2], eps=BROWN_2020.eps
    )

    def step(rows):
        optimizer.zero_grad()
        loss = loss_of(model, torch.tensor(rows))
        loss.backward()
        norm = nn.utils.get_total_norm([parameter.grad for parameter in model.parameters()])
        for parameter in model.parameters():  # `clip_grad_norm_` adds 1e-6 to the norm: 2e-7 after 50 steps
            parameter.grad /= norm.clamp(min=1)
        optimizer.step()
        return loss.item()

    return step


def curve(step, steps=STEPS):
    return [step(rows_of(t)) for t in range(steps)]


def test_the_loss_curve_of_fifty_steps_is_that_of_the_twin():
    mine, theirs = curve(by_hand(first())), curve(by_pytorch(first()))
    assert np.mean(mine[-5:]) < 0.6 * mine[0]
    np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-8)


def test_it_begins_at_log_v():
    assert abs(curve(by_hand(first(spread=0.02)), 1)[0] - math.log(VOCAB)) < 0.05


def test_before_training_what_writes_is_smaller_by_the_root_of_twice_the_blocks():
    wide = first(d_model=60, d_hidden=80, vocab=50, context=40, n_layers=8)
    for block in wide.blocks:
        for W in (wide.E, wide.places, *block.attention[:3], block.feed_forward.W_1):
            assert W.std() == pytest.approx(0.3, rel=0.06)
        for W in (block.attention.W_O, block.feed_forward.W_2):
            assert W.std() == pytest.approx(0.3 / 4, rel=0.06)


def test_a_step_leaves_what_it_was_given():
    learner = gpt.new_train_state(first())
    before = [array.copy() for array in gpt.all_arrays(learner.parameters)]
    _, after = gpt.train_step(rows_of(0), learner, HEADS, RATE)
    pairs = zip(before, gpt.all_arrays(learner.parameters), gpt.all_arrays(after.parameters), strict=True)
    assert all(np.array_equal(old, kept) and not np.array_equal(old, new) for old, kept, new in pairs)


@pytest.mark.timing
def test_it_takes_at_most_three_times_as_long_as_its_twin(record_property):
    """Seconds of the processor, the shortest of several turns: both meet the same noise."""
    parameters = first(vocab=64, context=32, d_model=64, d_hidden=256)
    steps, rows = {way: way(parameters) for way in (by_hand, by_pytorch)}, rows_of(0, 8, 32, 64)
    seconds = {way: [] for way in steps}
    for _ in range(8):
        for way, step in steps.items():
            begun = time.process_time()
            step(rows)
            seconds[way].append(time.process_time() - begun)
    times = min(seconds[by_hand]) / min(seconds[by_pytorch])
    record_property(
        "shown", f"a language model in NumPy takes {times:.1f} times as long as in PyTorch, on one core"
    )
    assert times <= 3


@pytest.mark.bad_input
def test_a_text_that_is_too_long_is_named():
    with pytest.raises(
        ValueError, match="language_model: every token needs a position; got 6 tokens for context=5."
    ):
        gpt.language_model(np.zeros((1, 6), dtype=int), first(), HEADS)
