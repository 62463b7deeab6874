"""Guess and check: over all draws, what is said has the distribution of the target, exactly."""

import itertools
import math
from collections import defaultdict

import numpy as np
import pytest
import torch

from attnlib.models import gpt
from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT
from attnlib.reference.ops import softmax
from attnlib.speculative import drawn_by, residual, speculate, verify

VOCAB, LONGEST = 3, 3
START = np.array([[0, 1]])


class Target:
    """Log-probabilities that look at the last two tokens, behind every token of a prefix."""

    def __init__(self, table):
        self.table, self.passes = table, 0

    def __call__(self, prefix):
        return self.table[prefix[:, -2], prefix[:, -1]]

    def after_each(self, prefix):
        self.passes += 1
        return self.table[prefix[:, :-1], prefix[:, 1:]]


def some_table(rng, size=1.5):
    return np.log(softmax(size * rng.normal(size=(VOCAB, VOCAB, VOCAB))))


def over_all_draws(run):
    """What `run(draw)` returns, with its probability, for every way in which its draws can come out."""
    outcomes, waiting = defaultdict(float), [()]
    while waiting:
        path, taken, weight = waiting.pop(), [], 1.0

        def draw(P, path=path, taken=taken):
            nonlocal weight
            P = P / P.sum()
            place = len(taken)
            if place >= len(path):
                first, *others = np.flatnonzero(P).tolist()
                waiting.extend((*taken, other) for other in others)
            taken.append(path[place] if place < len(path) else first)
            weight *= P[taken[-1]]
            return taken[-1]

        outcomes[run(draw)] += weight
    return outcomes


def by_the_target(table, stop=()):
    """The probability of each text of the target, token by token."""
    texts = defaultdict(float)
    for said in itertools.product(range(VOCAB), repeat=LONGEST):
        whole = (0, 1, *said)
        probability = math.exp(sum(table[whole[i : i + 3]] for i in range(LONGEST)))
        ends = next((i + 1 for i, token in enumerate(said) if token in stop), LONGEST)
        texts[said[:ends]] += probability
    return texts


@pytest.mark.parametrize("n_drafted", [1, 2, 4])
@pytest.mark.parametrize("stop", [(), (2,)])
def test_over_all_draws_the_texts_are_those_of_the_target(rng, n_drafted, stop):
    target, draft = Target(some_table(rng)), Target(some_table(rng))

    def run(draw):
        rounds = speculate(target, draft, START, draw, max_new_tokens=LONGEST, n_drafted=n_drafted, stop=stop)
        return tuple(token for one in rounds for token in one.tokens)

    outcomes, expected = over_all_draws(run), by_the_target(target.table, stop)
    assert set(outcomes) == set(expected)
    for said, probability in expected.items():
        assert math.isclose(outcomes[said], probability, rel_tol=1e-12)


def test_a_draft_may_never_say_what_the_target_says_and_the_promise_still_holds(rng):
    target, draft = Target(some_table(rng)), Target(np.log(np.full((VOCAB,) * 3, [0.5, 0.5, 1e-9])))
    target.table[..., 0] = -1e3  # and the draft likes what the target never says
    target.table -= np.log(np.exp(target.table).sum(-1, keepdims=True))

    def run(draw):
        return tuple(
            t for one in speculate(target, draft, START, draw, max_new_tokens=LONGEST) for t in one.tokens
        )

    expected = by_the_target(target.table)
    outcomes = over_all_draws(run)
    for said, probability in expected.items():
        assert math.isclose(outcomes[said], probability, rel_tol=1e-7, abs_tol=1e-12)


def test_the_share_that_is_accepted_is_what_both_have_in_common(rng):
    p, q = softmax(rng.normal(size=(2, 5)))
    accepted = 0.0
    for token in range(5):
        one = over_all_draws(
            lambda draw, token=token: verify(np.stack([p, p]), q[None], [token], draw).accepted
        )
        accepted += q[token] * one[1]
    assert math.isclose(accepted, np.minimum(p, q).sum())
    assert np.all(residual(p, q)[p <= q] == 0) and math.isclose(residual(p, q).sum(), 1)


def test_a_draft_that_is_the_target_is_never_refused(rng):
    target = Target(some_table(rng))
    rounds = list(speculate(target, target, START, drawn_by(rng), max_new_tokens=15, n_drafted=4))
    assert [one.accepted for one in rounds] == [4, 4, 4] and target.passes == 3
    assert [len(one.tokens) for one in rounds] == [5, 5, 5]


def small(seed):
    torch.manual_seed(seed)
    model = GPT(ModelConfig(vocab=11, context=64, d_model=8, n_heads=2, n_layers=2)).double()
    gpt.initialise(model, spread=0.3)
    return model


class Forgetful:
    """The same model, which reads everything again."""

    def __init__(self, model):
        self.model = model

    @torch.no_grad()
    def after_each(self, prefix):
        return self.model(prefix).log_softmax(-1)

    def __call__(self, prefix):
        return self.after_each(prefix)[:, -1]


@pytest.mark.parametrize("n_drafted", [1, 3, 7])
def test_with_their_memories_cropped_both_models_say_what_they_say_without(n_drafted):
    target, draft = small(0), small(1)
    start = torch.tensor([[3, 1, 4]])
    options = {"max_new_tokens": 40, "n_drafted": n_drafted}
    rng = np.random.default_rng
    plain = list(speculate(Forgetful(target), Forgetful(draft), start, drawn_by(rng(5)), **options))
    cached = list(speculate(target.predictor(), draft.predictor(), start, drawn_by(rng(5)), **options))
    assert cached == plain
    assert sum(len(one.tokens) for one in plain) == 40
    assert 0 < sum(one.accepted for one in plain) < 40


def test_the_target_reads_each_token_that_stays_once(rng):
    target, read = small(0), []
    target.embed.register_forward_hook(lambda module, args, out: read.append(args[0].shape[1]))
    rounds = list(
        speculate(
            target.predictor(),
            Forgetful(small(1)),
            torch.ones(1, 5, dtype=int),
            drawn_by(rng),
            max_new_tokens=20,
        )
    )
    assert read[0] == 5 + 4 and set(read[1:-1]) <= {5} and len(read) == len(rounds)


def test_draws_come_as_often_as_they_should_and_never_what_is_impossible():
    P, draw = np.array([0.0, 0.2, 0.5, 0.3, 0.0]), drawn_by(np.random.default_rng(0))
    n = 4000
    counts = np.bincount([draw(P) for _ in range(n)], minlength=5)
    assert counts[0] == counts[4] == 0
    assert np.all(abs(counts - n * P) <= 4 * np.sqrt(n * P * (1 - P)))


def test_a_round_needs_a_guess(rng):
    with pytest.raises(ValueError, match="speculate: there must be a token to guess; got n_drafted=0"):
        speculate(None, None, START, drawn_by(rng), max_new_tokens=3, n_drafted=0)
