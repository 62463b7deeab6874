"""Schedules: the papers' formulas, both sides of each join, the first step, and PyTorch's own."""

import math
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
import pytest
import torch
from torch.optim import lr_scheduler

from attnlib.reference import schedules

STEPS, WARMUP, DECAY, PEAK = 97, 13, 31, 3e-3
ALL = {
    "constant": partial(schedules.constant, warmup=WARMUP, peak=PEAK),
    "linear": partial(schedules.linear, steps=STEPS, warmup=WARMUP, peak=PEAK),
    "cosine": partial(schedules.cosine, steps=STEPS, warmup=WARMUP, peak=PEAK),
    "inverse_square_root": partial(schedules.inverse_square_root, warmup=WARMUP, peak=PEAK),
    "warmup_stable_decay": partial(
        schedules.warmup_stable_decay, steps=STEPS, decay=DECAY, warmup=WARMUP, peak=PEAK
    ),
}
ENDING = ("linear", "cosine", "warmup_stable_decay")


def used(make, n=STEPS):
    """The rates that PyTorch uses in n steps."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=PEAK)
    schedule, rates = make(optimizer), []
    for _ in range(n):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return rates


@pytest.mark.parametrize("name", ALL)
def test_it_rises_on_a_line_to_its_peak_and_never_above(name):
    rates = [ALL[name](step) for step in range(STEPS)]
    for step in range(WARMUP):
        assert math.isclose(rates[step], PEAK * (step + 1) / WARMUP, rel_tol=1e-12)
    assert math.isclose(max(rates), PEAK, rel_tol=1e-12) and math.isclose(
        rates[WARMUP - 1], PEAK, rel_tol=1e-12
    )
    assert all(one >= other for one, other in zip(rates[WARMUP:], rates[WARMUP + 1 :], strict=False))


@pytest.mark.parametrize("name", ALL)
def test_neither_the_first_nor_the_last_update_is_wasted(name):
    assert ALL[name](0) > 0 and ALL[name](STEPS - 1) > 0


@pytest.mark.parametrize("name", ENDING)
def test_behind_all_steps_it_stays_at_its_last_share(name):
    for last in (0.0, 0.1, 1.0):
        assert [ALL[name](step, last=last) for step in (STEPS, STEPS + 1, 10**9)] == pytest.approx(
            [PEAK * last] * 3, rel=1e-12, abs=1e-18
        )


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("times", [1, 7])
def test_finer_steps_make_no_jump(name, times):
    """With every length `times` as long, two neighbouring rates are `times` as close: also across the joins."""
    lengths = {key: value for key, value in ALL[name].keywords.items() if key != "peak"}
    fine = partial(ALL[name].func, **{key: times * value for key, value in lengths.items()})
    rates = [fine(step) for step in range(times * STEPS)]
    steepest = max(abs(one - other) for one, other in zip(rates, rates[1:], strict=False))
    assert steepest < 1.01 / WARMUP / times


def test_the_formula_of_2017():
    for step in (0, 1, 3998, 3999, 4000, 99_999):
        t = step + 1
        right = 512**-0.5 * min(t**-0.5, t * 4000**-1.5)
        assert math.isclose(schedules.vaswani_2017(step), right, rel_tol=1e-12)
    at_peak = 4000**-0.5, 4000 * 4000**-1.5
    assert math.isclose(*at_peak, rel_tol=1e-14)  # both branches meet there
    assert f"{schedules.vaswani_2017(3999):.2e}" == "6.99e-04"
    assert max(range(3900, 4100), key=schedules.vaswani_2017) == 3999
    wider = schedules.vaswani_2017(7, d_model=2048) / schedules.vaswani_2017(7)
    assert math.isclose(wider, 1 / 2, rel_tol=1e-12)


def test_without_warmup_a_cosine_is_pytorchs():
    mine = used(
        lambda optimizer: lr_scheduler.LambdaLR(optimizer, partial(schedules.cosine, steps=STEPS, last=0.1))
    )
    theirs = used(lambda optimizer: lr_scheduler.CosineAnnealingLR(optimizer, STEPS, eta_min=PEAK / 10))
    assert mine == pytest.approx(theirs, rel=1e-12)


def test_without_warmup_a_line_is_pytorchs():
    mine = used(
        lambda optimizer: lr_scheduler.LambdaLR(optimizer, partial(schedules.linear, steps=STEPS, last=0.1))
    )
    theirs = used(lambda optimizer: lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=STEPS))
    assert mine == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize("name", ALL)
def test_as_a_factor_it_is_used_by_pytorch_from_the_first_step_on(name):
    factor = partial(
        ALL[name].func, **{key: value for key, value in ALL[name].keywords.items() if key != "peak"}
    )
    rates = used(lambda optimizer: lr_scheduler.LambdaLR(optimizer, factor))
    assert rates == pytest.approx([ALL[name](step) for step in range(STEPS)], rel=1e-12)


def test_a_stable_rate_is_level_until_it_falls():
    rates = [ALL["warmup_stable_decay"](step) for step in range(STEPS)]
    assert set(rates[WARMUP - 1 : STEPS - DECAY + 1]) == {PEAK} and rates[STEPS - DECAY + 1] < PEAK


@pytest.mark.bad_input
def test_a_warmup_longer_than_the_training_is_named():
    with pytest.raises(ValueError, match="cosine: warmup must be between 0 and steps=10; got warmup=11"):
        schedules.cosine(0, steps=10, warmup=11)


def test_the_page_counts_steps_as_the_package_does():
    """The functions that the page shows give every rate of the package's, from the first step to the last."""
    page = Path(__file__).resolve().parent.parent / "book/05-training/3-how-fast.ipynb"
    [shown] = [cell.source for cell in nbformat.read(page, 4).cells if "def cosine(" in cell.source]
    names: dict[str, Any] = {"math": math}
    exec(shown, names)
    assert [names["cosine"](step, STEPS, WARMUP, PEAK) for step in range(STEPS)] == pytest.approx(
        [ALL["cosine"](step) for step in range(STEPS)], rel=1e-12
    )
    assert [names["warmup_stable_decay"](step, STEPS, WARMUP, PEAK, DECAY) for step in range(STEPS)] == (
        pytest.approx([ALL["warmup_stable_decay"](step) for step in range(STEPS)], rel=1e-12)
    )
    assert [names["rate_2017"](step) for step in range(STEPS)] == pytest.approx(
        [schedules.vaswani_2017(step) for step in range(STEPS)], rel=1e-12
    )
    assert sum(names["cosine"](step, 100, 20, 1.0) for step in range(100)) == pytest.approx(51.0)
    assert sum(names["warmup_stable_decay"](step, 100, 20, 1.0, 25) for step in range(100)) == pytest.approx(
        78.5
    )


# ---- A warmup that starts at zero, as other code has it --------------------------------------------------------------

FROM_ZERO = [name for name in ALL if name != "inverse_square_root"]  # its t stands below a root


@pytest.mark.parametrize("name", FROM_ZERO)
def test_from_zero_the_first_rate_is_zero_and_the_warmup_a_step_later(name):
    rates = [ALL[name](step, from_zero=True) for step in range(STEPS)]
    assert rates[0] == 0.0
    assert rates[1 : WARMUP + 1] == [ALL[name](step) for step in range(WARMUP)]
    assert rates[WARMUP:] == [ALL[name](step) for step in range(WARMUP, STEPS)]  # the peak is where it was


@pytest.mark.parametrize(
    "name, theirs",
    [
        ("constant", "get_constant_schedule_with_warmup"),
        ("linear", "get_linear_schedule_with_warmup"),
        ("cosine", "get_cosine_schedule_with_warmup"),
        ("warmup_stable_decay", "get_wsd_schedule"),
    ],
)
def test_from_zero_it_is_hugging_faces(name, theirs):
    import transformers

    sizes = {"num_warmup_steps": WARMUP}
    if name in ("linear", "cosine"):
        sizes |= {"num_training_steps": STEPS}
    if name == "warmup_stable_decay":
        sizes |= {"num_training_steps": STEPS, "num_decay_steps": DECAY, "decay_type": "linear"}
    right = used(lambda optimizer: getattr(transformers, theirs)(optimizer, **sizes))
    assert [ALL[name](step, from_zero=True) for step in range(STEPS)] == pytest.approx(right, rel=1e-12)


@pytest.mark.parametrize("last", [0.0, 0.1])
def test_from_zero_it_is_a_cycle_between_two_rates(last):
    """The same written with a largest and a smallest rate, in three cases."""

    def by_cases(step, largest, smallest):
        if step < WARMUP:
            return largest * step / WARMUP
        if step > STEPS:
            return smallest
        share = (step - WARMUP) / (STEPS - WARMUP)
        return smallest + (largest - smallest) * (1 + math.cos(math.pi * share)) / 2

    for step in range(STEPS + 3):
        mine = schedules.cosine(step, STEPS, WARMUP, PEAK, last, from_zero=True)
        assert math.isclose(mine, by_cases(step, PEAK, last * PEAK), rel_tol=1e-12, abs_tol=1e-18)
