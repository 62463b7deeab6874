"""The training loop: each token counts once, a bad step changes nothing, a killed training ends as if it never was."""

import math
import os
import random
import re
import signal
import time
from functools import partial

import numpy as np
import pytest
import torch
from copies import FRESH
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT
from attnlib.reference.schedules import cosine
from attnlib.testing import assert_close
from attnlib.train import checkpoint, state
from attnlib.train.callbacks import Callback, progress_line
from attnlib.train.checkpoint import load_checkpoint
from attnlib.train.fit import fit
from attnlib.train.held_out import HeldOut
from attnlib.train.optim import decay_groups
from attnlib.train.rows import TokenRows
from attnlib.train.training import Training, TrainingStopped

N, BATCH, VOCAB, STEPS, EVERY = 7, 3, 11, 24, 3
TOKENS = np.random.default_rng(0).integers(0, VOCAB, 400).astype(np.uint16)


def loss(model, rows):
    """The sum over all next tokens, and how many they are."""
    scores = model(rows[:, :-1]).flatten(0, 1)
    return nn.functional.cross_entropy(scores, rows[:, 1:].flatten(), reduction="sum"), rows[:, 1:].numel()


def noisy(model, rows):
    """A loss that draws from every random generator there is."""
    value, tokens = loss(model, rows)
    return value * (1 + 0.01 * random.random() + 0.01 * np.random.random()), tokens


def gpt(**more):
    return GPT(ModelConfig(VOCAB, context=N, d_model=8, n_heads=2, n_layers=1, **more))


def adamw(model, steps=STEPS):
    optimizer = torch.optim.AdamW(decay_groups(model, 0.1), lr=1e-2, betas=(0.9, 0.95))
    return {"optimizer": optimizer, "schedule": LambdaLR(optimizer, partial(cosine, steps=steps, warmup=4))}


# ---- A step ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(4, 4), (6, 2), (1, 1, 6)])
def test_a_step_of_several_batches_is_the_step_of_all_their_tokens(sizes):
    """Batches of different size: the mean of their means would weigh the tokens of a small one more."""
    rows = torch.randint(VOCAB, (8, N + 1), generator=torch.Generator().manual_seed(1))
    torch.manual_seed(0)
    whole, parts = gpt(), gpt()
    parts.load_state_dict(whole.state_dict())
    options = {"steps": 1, "clip": 1e9}
    once = fit(whole, loss, [rows], optimizer=torch.optim.SGD(whole.parameters(), lr=0.1), **options)
    cut = fit(
        parts, loss, rows.split(sizes), accumulate=len(sizes),
        optimizer=torch.optim.SGD(parts.parameters(), lr=0.1), **options,
    )  # fmt: skip
    assert once == pytest.approx(cut, rel=1e-6)
    for one, other in zip(whole.parameters(), parts.parameters(), strict=True):
        assert_close(one, other, "float32")


def test_a_mean_of_means_is_another_gradient():
    """What the sum and the number of tokens are for."""
    rows = torch.randint(VOCAB, (8, N + 1), generator=torch.Generator().manual_seed(1))
    torch.manual_seed(0)
    model, grads = gpt(), []
    for counted in (True, False):
        take = loss if counted else lambda model, rows: (lambda value, n: value / n)(*loss(model, rows))
        way = Training(
            model, take, iter(rows.split((6, 2))), steps=1, optimizer=torch.optim.SGD(model.parameters(), lr=0),
            schedule=None, clip=1e9, accumulate=2,
        )  # fmt: skip
        way.one_step()
        grads.append(model.embed.weight.grad.clone())
    assert (grads[0] - grads[1]).abs().max() > 0.01 * grads[0].abs().max()


def test_gradients_are_clipped_as_one_vector():
    model = nn.Linear(3, 1)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    fit(
        model, lambda model, x: 100 * model(x).sum(), [torch.ones(1, 3)], steps=1, clip=0.5,
        optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
    )  # fmt: skip
    moved = torch.cat([(a - b).flatten() for a, b in zip(model.parameters(), before, strict=True)])
    assert_close(moved, torch.full((4,), -0.25), "float32")  # length 0.5


def test_a_loss_that_is_not_a_number_stops_and_the_model_stays(tmp_path):
    torch.manual_seed(0)
    model, seen = gpt(), []

    def turns_bad(model, rows):
        value, tokens = loss(model, rows)
        return value * (torch.nan if len(seen) == 5 else 1), tokens

    def look(step, _):
        seen.append({name: tensor.clone() for name, tensor in model.state_dict().items()})

    rows = TokenRows(TOKENS, n=N, batch=BATCH)
    with pytest.raises(
        TrainingStopped, match="loss and gradient must be finite; got nan and nan in step 6. The model is"
    ):
        fit(
            model,
            turns_bad,
            rows,
            steps=STEPS,
            folder=tmp_path,
            keep_every=2,
            after_step=look,
            **adamw(model),
        )
    assert len(seen) == 5
    assert all(torch.equal(tensor, seen[-1][name]) for name, tensor in model.state_dict().items())
    assert load_checkpoint(tmp_path).step == 4


def test_a_gradient_that_is_not_a_number_stops_too():
    model = nn.Linear(1, 1)
    root = lambda model, x: (0 * model(x)).sqrt().sum()  # noqa: E731  (finite, with an infinite slope)
    with pytest.raises(TrainingStopped, match="got 0 and nan in step 1"):
        fit(model, root, [torch.ones(1, 1)], steps=1)
    assert model.weight.isfinite().all()


@pytest.mark.parametrize("kind", ["gpu", "cpu"])
def test_a_batch_that_does_not_fit_is_one_sentence(kind):
    def huge(model, x):
        if kind == "gpu":
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return torch.empty(2**58).sum()

    with pytest.raises(
        TrainingStopped, match="a batch must fit into the memory of cpu; got one that does not in step 1"
    ):
        fit(nn.Linear(1, 1), huge, [torch.ones(1, 1)], steps=1)


def test_another_error_of_the_loss_is_not_hidden():
    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        fit(nn.Linear(2, 1), lambda model, x: model(x).sum(), [torch.ones(1, 3)], steps=1)


# ---- Held out -------------------------------------------------------------------------------------------------------


def test_it_is_measured_without_dropout_and_the_training_has_it():
    torch.manual_seed(0)
    model, modes = gpt(dropout=0.5), []

    def measure(model):
        modes.append((model.training, torch.is_grad_enabled()))
        return 1.0

    held_out = HeldOut(measure, every=4)
    trained = []
    spied = lambda model, rows: (trained.append(model.training), loss(model, rows))[1]  # noqa: E731
    fit(model.eval(), spied, TokenRows(TOKENS, n=N, batch=2), steps=10, held_out=held_out)
    assert [step for step, _ in held_out.curve] == [4, 8, 10]
    assert modes == [(False, False)] * 3 and trained == [True] * 10


def test_a_look_leaves_the_model_in_its_mode():
    model, held_out = nn.Dropout(), HeldOut(lambda model: 0.0, every=1)
    for mode in (True, False):
        held_out.look(1, model.train(mode))
        assert model.training == mode


def test_it_stops_when_nothing_gets_better_and_the_best_comes_back():
    values = iter([3.0, 2.0, 2.5, 2.25, 1.0])
    model, weights = nn.Linear(1, 1), []
    held_out = HeldOut(
        lambda model: (weights.append(model.weight.item()), next(values))[1], every=5, patience=2
    )
    losses = fit(model, lambda model, x: model(x).sum(), [torch.ones(1, 1)] * 99, steps=99, held_out=held_out)
    assert len(losses) == 20 and [value for _, value in held_out.curve] == [3.0, 2.0, 2.5, 2.25]
    assert model.weight.item() == weights[1] and len(set(weights)) == 4


# ---- Callbacks ------------------------------------------------------------------------------------------------------


class Diary(Callback):
    """Writes down when it is called."""

    def __init__(self, end=None):
        self.end, self.lines = end, []

    def on_train_begin(self, training):
        self.lines.append(f"begin at {training.step}")

    def on_step_end(self, training):
        self.lines.append(training.step)
        training.should_stop = training.step == self.end

    def on_train_end(self, training):
        self.lines.append(f"end at {training.step}")


class Counted(Callback):
    """How many steps it has seen, over all resumptions."""

    state_key = "seen"
    seen = 0

    def on_step_end(self, training):
        self.seen += 1

    def state_dict(self):
        return {"steps": self.seen}

    def load_state_dict(self, state):
        self.seen = state["steps"]


@pytest.mark.parametrize("end, lines", [(None, [1, 2, 3, "end at 3"]), (2, [1, 2, "end at 2"])])
def test_a_callback_sees_each_step_and_may_end_the_training(end, lines):
    model, diary = nn.Linear(1, 1), Diary(end)
    fit(model, lambda model, x: model(x).sum(), [torch.ones(1, 1)] * 3, steps=3, callbacks=[diary])
    assert diary.lines == ["begin at 0", *lines]


def test_callbacks_are_called_in_order_after_the_measurement_and_before_after_step():
    seen, held_out = [], HeldOut(lambda model: seen.append("held out") or 1.0, every=1)
    noted = type("Noted", (Callback,), {"on_step_end": lambda self, training: seen.append(self.name)})
    first, second = noted(), noted()
    first.name, second.name = "first", "second"
    fit(
        nn.Linear(1, 1), lambda model, x: model(x).sum(), [torch.ones(1, 1)], steps=1, held_out=held_out,
        callbacks=[first, second], after_step=lambda step, loss: seen.append("after"),
    )  # fmt: skip
    assert seen == ["held out", "first", "second", "after"]


def test_the_gradients_that_the_optimiser_used_are_there_after_the_step():
    model, found = nn.Linear(1, 1), []
    look = type("Look", (Callback,), {"on_step_end": lambda self, training: found.append(model.weight.grad)})
    fit(
        model, lambda model, x: 3 * model(x).sum(), [torch.ones(1, 1)], steps=1, clip=math.inf,
        callbacks=[look()],
    )  # fmt: skip
    assert found[0].item() == 3


def test_the_state_of_a_callback_is_in_the_checkpoint(tmp_path):
    def go_on(steps):
        torch.manual_seed(0)
        model, counted, diary = gpt(), Counted(), Diary()
        rows = TokenRows(TOKENS, n=N, batch=BATCH)
        fit(model, loss, rows, steps=steps, folder=tmp_path, callbacks=[counted, diary], **adamw(model))
        return counted.seen, diary.lines

    assert go_on(2) == (2, ["begin at 0", 1, 2, "end at 2"])
    assert go_on(5) == (5, ["begin at 2", 3, 4, 5, "end at 5"])


@pytest.mark.bad_input
def test_two_callbacks_with_one_name_for_their_states_are_refused(tmp_path):
    rows = TokenRows(TOKENS, n=N, batch=BATCH)
    with pytest.raises(ValueError, match="callbacks must keep their states apart; got seen, seen. Give each"):
        fit(gpt(), loss, rows, steps=1, folder=tmp_path, callbacks=[Counted(), Counted()])


# ---- Kept and resumed -----------------------------------------------------------------------------------------------


def train(folder, steps=STEPS, seed=0):
    """A training with all that has a state: dropout, two moments, a schedule, an order of the data, looks, patience."""
    for sow in (random.seed, np.random.seed, torch.manual_seed):
        sow(seed)
    model = gpt(dropout=0.3)
    held_out = HeldOut(
        lambda model: loss(model, torch.tensor(TOKENS[:8], dtype=torch.int64)[None])[0], every=5, patience=99
    )
    rows = TokenRows(TOKENS, n=N, batch=BATCH)
    return fit(
        model, noisy, rows, steps=steps, accumulate=2, held_out=held_out, folder=folder, keep_every=EVERY,
        **adamw(model),
    )  # fmt: skip


def ends(folder):
    """All that was kept at the end, but for how long it took."""
    found = load_checkpoint(folder)
    assert found.step == STEPS
    tensors = {}
    said = checkpoint.packed({key: one for key, one in found.state.items() if key != "seconds"}, tensors)
    return said, {name: (str(tensor.dtype), tensor.tolist()) for name, tensor in tensors.items()}


@pytest.fixture(scope="module")
def never_stopped(tmp_path_factory):
    folder = tmp_path_factory.mktemp("never stopped")
    begun = time.monotonic()
    losses = train(folder)
    return ends(folder), losses, time.monotonic() - begun


def test_a_training_that_was_stopped_goes_on_as_if_it_never_was(tmp_path, never_stopped):
    """In a new process everything would be drawn anew: here another seed stands for that."""
    whole, losses, _ = never_stopped

    class Stop(Exception):
        pass

    def stop(step, _):
        if step == 11:
            raise Stop

    with pytest.raises(Stop):
        for sow in (random.seed, np.random.seed, torch.manual_seed):
            sow(0)
        model = gpt(dropout=0.3)
        held_out = HeldOut(
            lambda model: loss(model, torch.tensor(TOKENS[:8], dtype=torch.int64)[None])[0],
            every=5,
            patience=99,
        )
        fit(
            model, noisy, TokenRows(TOKENS, n=N, batch=BATCH), steps=STEPS, accumulate=2, held_out=held_out,
            folder=tmp_path, keep_every=EVERY, after_step=stop, **adamw(model),
        )  # fmt: skip
    assert load_checkpoint(tmp_path).step == 9
    assert train(tmp_path, seed=1) == losses and ends(tmp_path) == whole
    assert train(tmp_path, seed=2) == losses  # and once more: there is nothing left to do


@pytest.mark.parametrize("left_out", ["optimizer", "schedule", "batches", "random", "model"])
def test_whatever_is_not_kept_is_missed(left_out, tmp_path, never_stopped, monkeypatch):
    """Each part of the state counts: without it the training ends elsewhere."""
    train(tmp_path, steps=12)
    kept = load_checkpoint(tmp_path)
    fresh = tmp_path / "fresh"
    train(fresh, steps=1, seed=3)
    spoilt = kept.state | {left_out: load_checkpoint(fresh).state[left_out]}
    monkeypatch.setattr(state, "load_checkpoint", lambda folder: kept._replace(state=spoilt))
    assert train(tmp_path) != never_stopped[1]


def test_looks_may_begin_later_than_the_training(tmp_path):
    def go_on(steps, held_out=None):
        torch.manual_seed(0)
        model = gpt()
        return fit(
            model, loss, TokenRows(TOKENS, n=N, batch=BATCH), steps=steps, folder=tmp_path, held_out=held_out,
            **adamw(model),
        )  # fmt: skip

    go_on(4)
    held_out = HeldOut(lambda model: 1.0, every=1)
    assert len(go_on(6, held_out)) == 6 and [step for step, _ in held_out.curve] == [5, 6]


@pytest.mark.bad_input
def test_a_folder_of_another_model_is_named(tmp_path):
    train(tmp_path, steps=3)
    other = gpt(qk_norm=True)
    with pytest.raises(
        ValueError, match="fit: a folder goes on with the model .*; got 'Error.*'. Choose another folder"
    ):
        fit(other, loss, TokenRows(TOKENS, n=N, batch=BATCH), steps=3, folder=tmp_path, **adamw(other))


@pytest.mark.bad_input
def test_data_without_a_position_cannot_be_resumed(tmp_path):
    with pytest.raises(
        ValueError, match="fit: with a folder, data must have a state_dict; got list_iterator. TokenRows is"
    ):
        fit(nn.Linear(1, 1), lambda model, x: model(x).sum(), [torch.ones(1, 1)], steps=1, folder=tmp_path)


def test_without_the_gpu_that_it_was_kept_on_it_does_not_go_on(tmp_path, monkeypatch):
    train(tmp_path, steps=3)
    kept = load_checkpoint(tmp_path)
    kept.state["random"]["where"] = "cuda"
    monkeypatch.setattr(state, "load_checkpoint", lambda folder: kept)
    with pytest.raises(
        ValueError, match="the model must be on cuda, where its training was kept; got one on cpu. Move"
    ):
        train(tmp_path)


# ---- Killed ---------------------------------------------------------------------------------------------------------

EVERY_KILL = bool(os.environ.get("EVERY_KILL"))
AT_RANDOM, WHILE_WRITING = (12, 8) if EVERY_KILL else (2, 2)


def started(act, *arguments):
    process = FRESH.Process(target=act, args=arguments)
    process.start()
    return process


def ended(process):
    """How it ended: 0, or minus the signal that killed it."""
    process.join()
    return process.exitcode


def train_from_now(begun, folder):
    begun.set()
    train(folder)


def train_and_die(folder, moment):
    """Killed at that look at the disk: a file is written, or it is in its place and its folder not yet told."""
    looks = []

    def die_in_time(handle):
        looks.append(handle)
        if len(looks) == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    checkpoint.os.fsync = die_in_time
    train(folder)


def goes_on(folder, never_stopped):
    """A new process finds what is there, and ends where the one that was never killed ended."""
    seed = 99 if load_checkpoint(folder) else 0  # where nothing was kept yet, it begins as before
    assert ended(started(train, folder, STEPS, seed)) == 0
    assert ends(folder) == never_stopped[0]


@pytest.mark.training
@pytest.mark.parametrize("i", range(AT_RANDOM))
def test_killed_at_any_moment_it_ends_as_if_it_never_was(i, tmp_path, never_stopped):
    (*_, seconds), drawn = never_stopped, random.Random(i)
    for _ in range(2 if i % 2 else 1):  # killed again on its way
        begun = FRESH.Event()
        process = started(train_from_now, begun, tmp_path)
        begun.wait()
        time.sleep(drawn.uniform(0, seconds))
        process.kill()
        assert ended(process) in (0, -signal.SIGKILL)
    goes_on(tmp_path, never_stopped)


@pytest.mark.training
@pytest.mark.parametrize("i", range(WHILE_WRITING))
def test_killed_while_a_checkpoint_is_written_it_ends_as_if_it_never_was(i, tmp_path, never_stopped):
    """Each of 8 checkpoints looks at the disk four times."""
    moment = random.Random(i).randint(1, 32)
    assert ended(started(train_and_die, tmp_path, moment)) == -signal.SIGKILL
    goes_on(tmp_path, never_stopped)


def test_the_line_of_progress_says_where_how_fast_and_how_long():
    way = Training(
        nn.Linear(1, 1), loss, iter([]), steps=80, optimizer=torch.optim.SGD([torch.zeros(1)]), schedule=None,
        clip=1.0,
    )  # fmt: skip
    way.losses, way.tokens, way.seconds, way.counted = [9.0, 2.5], 4000, 2.0, True
    held_out = HeldOut(lambda model: 0.0, every=1)
    assert progress_line(way) == "step 2 of 80: loss 2.500 (nats a token), 2,000 tokens/s, 78 s to go"
    held_out.curve, way.steps = [(2, 2.75)], 1000
    assert progress_line(way, held_out).endswith(
        "held out 2.750 (nats a token), 2,000 tokens/s, 17 min to go"
    )


def test_the_line_of_progress_is_shown_when_asked_for(capsys):
    options = {"steps": 2, "optimizer": None}
    for progress in (False, True):
        fit(
            nn.Linear(1, 1),
            lambda model, x: model(x).sum(),
            [torch.ones(1, 1)] * 2,
            progress=progress,
            **options,
        )
        shown = capsys.readouterr().out
        assert bool(re.search(r"step 2 of 2: loss .* batches/s, 0 s to go", shown)) == progress
