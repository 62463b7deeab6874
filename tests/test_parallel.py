"""Each kind of parallel training is the single process: loss, gradients; what it moves, holds, wastes; checkpoints."""

import json
from functools import partial

import numpy as np
import pytest
import torch
from copies import FRESH
from parallel_work import EVEN, MICRO, MODELS, ROWS, N, config, counted, data, gpt, loss, work
from torch.multiprocessing.spawn import start_processes

from attnlib.models import parallel_costs as costs
from attnlib.models.gpt import GPT
from attnlib.reference import all_reduce as ring
from attnlib.reference import pipeline
from attnlib.reference.transformer import FeedForwardParameters, feed_forward
from attnlib.testing import assert_close
from attnlib.train import parallel, workers

SIZES = (4, 2)
KINDS = [
    *(f"{kind}{more}" for kind in ("data_parallel", "fully_sharded", "tensor_parallel")
      for more in ("", ", tied", ", a Llama")),
    "pipeline, GPipe", "pipeline, 1F1B",
]  # fmt: skip
TOGETHER = ["fully sharded and tensor parallel", "data parallel and a pipeline"]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What each worker of four and of two has found; the two read what the four have written.

    All six are copies of one process that has loaded PyTorch.
    """
    folder, all_found = tmp_path_factory.mktemp("workers"), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workers, "spawn", partial(start_processes, start_method=FRESH.get_start_method()))
        for p in SIZES:
            workers.together(p, work, str(folder))
            all_found[p] = [json.loads((folder / f"{p}-{r}.json").read_text()) for r in range(p)]
    return all_found


# ---- The ring, simulated --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("n", [1, 5, 13])
def test_the_ring_gives_everybody_the_sum(p, n, rng):
    vectors = rng.normal(size=(p, n))
    sums, sent = ring.ring_all_reduce(vectors)
    assert_close(sums, np.tile(vectors.sum(axis=0), (p, 1)), "float64")
    assert sent.sum() == 2 * (p - 1) * n


@pytest.mark.parametrize("p", [2, 4, 8])
def test_each_worker_sends_twice_its_vector_less_a_piece(p, rng):
    """2 (p - 1) / p of the vector, whatever the number of workers: never more than two of them."""
    n = 24 * p
    assert set(ring.ring_all_reduce(rng.normal(size=(p, n)))[1]) == {2 * (p - 1) * n // p}


def test_behind_the_first_half_each_piece_is_whole_at_one_worker(rng):
    vectors = rng.normal(size=(3, 7))
    held, _ = ring.reduce_scatter(vectors)
    for r in range(3):
        cut = ring.pieces(7, 3)[(r + 1) % 3]
        assert_close(held[r, cut], vectors.sum(axis=0)[cut], "float64")


def test_a_mean_of_means_is_not_the_mean(rng):
    means, counts = np.array([[9.0], [3.0]]), np.array([1, 5])
    assert means.mean() == 6.0
    assert np.all(ring.weighted_mean(means, counts)[0] == 4.0)


def test_the_weighted_mean_of_the_shares_is_the_gradient_of_the_batch():
    """Shares of 3 and 5 rows, the texts of which differ in length."""
    (read, said), model = data(), gpt()

    def mean(which):
        model.zero_grad()
        (loss(model(read[which]), said[which]) / counted(said[which])).backward()
        return torch.cat([one.grad.flatten() for one in model.parameters()]).numpy(), counted(said[which])

    means, counts = zip(*(mean(which) for which in (slice(3), slice(3, None))), strict=True)
    found, _ = ring.weighted_mean(np.stack(means), np.array(counts))
    assert_close(found[1], mean(slice(None))[0], "float64")
    assert not np.allclose(np.mean(means, axis=0), found[1], rtol=1e-3)


def test_columns_of_the_map_in_and_rows_of_the_map_out_sum_to_the_network(rng):
    """The bend works on each hidden number alone; the last bias is added once."""
    X, W_1, b_1, W_2, b_2 = (rng.normal(size=size) for size in ((3, 5), (5, 14), 14, (14, 5), 5))
    whole, _ = feed_forward(X, FeedForwardParameters(W_1, b_1, W_2, b_2))
    halves = [
        feed_forward(X, FeedForwardParameters(W_1[:, some], b_1[some], W_2[some], 0 * b_2))[0]
        for some in (slice(7), slice(7, None))
    ]
    assert_close(sum(halves) + b_2, whole, "float64")


# ---- Schedules ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("m", [1, 2, 3, 8, 16])
@pytest.mark.parametrize("schedule", [pipeline.gpipe, pipeline.one_f_one_b])
def test_the_bubble_is_the_formulas(schedule, p, m):
    table = schedule(p, m)
    assert pipeline.waiting(table) == pytest.approx(pipeline.bubble(p, m), abs=1e-12)
    assert all(sorted(row[row != 0]) == [*range(-m, 0), *range(1, m + 1)] for row in table)
    most = m if schedule is pipeline.gpipe else min(p, m)
    assert pipeline.kept(table).max() == most


@pytest.mark.training
@pytest.mark.parametrize("p", SIZES)
@pytest.mark.parametrize("name, schedule", [("GPipe", pipeline.gpipe), ("1F1B", pipeline.one_f_one_b)])
def test_pytorch_does_what_the_schedule_says(name, schedule, p, found):
    table = schedule(p, MICRO)
    for r in range(p):
        assert found[p][r]["order"][name] == [int(task) for task in table[r] if task]


# ---- The real ones --------------------------------------------------------------------------------------------------


@pytest.mark.training
@pytest.mark.parametrize(
    "p, kind", [*((p, kind) for p in SIZES for kind in KINDS), *((4, kind) for kind in TOGETHER)]
)
def test_loss_and_gradients_are_those_of_one_process(p, kind, found):
    """In float64, to 1e-10; gradients, because behind Adam a key's bias wanders, whose true gradient is zero."""
    names = set()
    for mine in (found[p][r]["kinds"][kind] for r in range(p)):
        assert mine["loss"] < 1e-10 and mine["gradient"] < 1e-10
        names |= set(mine["names"])
    more = MODELS.get(kind.partition(", ")[2], {})
    assert names == {name for name, _ in gpt(**more).named_parameters()}


@pytest.mark.training
@pytest.mark.parametrize("p", SIZES)
def test_what_moves_is_the_formulas(p, found):
    tokens, c = ROWS * N, config(**EVEN)
    predicted = {
        "data_parallel": costs.data_parallel_bytes(c, p, 8),
        "fully_sharded": costs.fully_sharded_bytes(c, p, 8),
        "tensor_parallel": costs.tensor_parallel_bytes(c, p, tokens, 8),
    }
    for name, expected in predicted.items():
        assert [found[p][r]["moved"][name]["moved"] for r in range(p)] == [expected] * p
    ends = costs.activations(c, tokens, 8)
    between = costs.pipeline_bytes(c, p, tokens, 8)
    expected = [ends, *[between] * (p - 2), ends]
    assert [found[p][r]["moved"]["pipeline"]["moved"] for r in range(p)] == expected


def test_the_formulas_count_bytes_of_the_size_that_is_asked_for():
    """What the workers of the tests beside this one move and hold is counted with one size; here another is."""
    c, p, tokens = config(**EVEN), 4, 10
    whole, outside = costs.parameters(c), costs.rest(c)
    assert costs.activations(c, tokens, 2) == tokens * c.d_model * 2
    assert costs.tensor_parallel_bytes(c, p, tokens, 2) == 4 * c.n_layers * 1.5 * tokens * c.d_model * 2
    assert costs.pipeline_bytes(c, p, tokens, 2) == 2 * tokens * c.d_model * 2
    assert costs.data_parallel_bytes(c, p, 2) == 1.5 * whole * 2
    assert costs.fully_sharded_bytes(c, p, 2) == 0.75 * (3 * whole - outside) * 2
    assert costs.data_parallel_held(c, p, 2) == (2 * whole, 2 * whole, 4 * whole)
    assert costs.data_parallel_held(c, p, 2, state_only=True).averages == whole
    assert costs.fully_sharded_held(c, p, 2) == (whole / 2, whole / 2, whole)
    for held in (costs.tensor_parallel_held, costs.pipeline_held):
        assert held(c, p, 8).all == 4 * held(c, p, 2).all
        assert 2 * held(c, p).parameters == 2 * held(c, p).gradients == held(c, p).averages
        assert whole / p < held(c, p, 1).parameters < whole


@pytest.mark.parametrize("kind", MODELS)
def test_the_formulas_count_the_parameters_of_a_model(kind):
    """By their names: what stands outside the blocks, what all tensor parallel workers hold, what the first has."""
    more, p = MODELS[kind] | EVEN, 4
    c, numbers = config(**more), [(name, one.numel()) for name, one in gpt(**more).named_parameters()]

    def named(*parts):
        return sum(count for name, count in numbers if any(part in name for part in parts))

    blocks = named("blocks.")
    assert costs.parameters(c) == named("") and costs.rest(c) == named("") - blocks
    alike = named("embed", "places", "norm", "W_O.bias", "W_2.bias")  # "unembed", too
    assert costs.tensor_parallel_held(c, p, 1).parameters == alike + (named("") - alike) / p
    first = dict(numbers)["embed.weight"] + named("places")
    assert costs.pipeline_held(c, p, 1).parameters == blocks / p + first


@pytest.mark.training
@pytest.mark.parametrize("p", SIZES)
def test_what_is_held_is_the_formulas(p, found):
    c = config(**EVEN)
    for r in range(p):
        moved = found[p][r]["moved"]
        assert moved["data_parallel"]["held"] == list(costs.data_parallel_held(c, p, 8))
        assert moved["fully_sharded"]["held"] == list(costs.fully_sharded_held(c, p, 8))
        assert moved["tensor_parallel"]["held"] == list(costs.tensor_parallel_held(c, p, 8))
    assert found[p][0]["moved"]["pipeline"]["held"] == list(costs.pipeline_held(c, p, 8))
    whole = costs.parameters(c) * 8
    assert sum(found[p][r]["moved"]["pipeline"]["held"][0] for r in range(p)) == whole


@pytest.mark.training
@pytest.mark.parametrize("p", SIZES)
def test_a_sharded_optimiser_is_one_process_and_holds_a_share(p, found):
    """To the last bit; half of the bytes on two workers, a quarter on four, as the formula says."""
    c = config(**EVEN)
    for r in range(p):
        mine = found[p][r]["states"]
        assert mine["same"] and mine["kind"] == "AdamW"
        here, whole = mine["held"]
        assert whole == costs.data_parallel_held(c, p, 8).averages
        assert here == pytest.approx(costs.data_parallel_held(c, p, 8, state_only=True).averages, rel=0.01)
    assert sum(found[p][r]["states"]["held"][0] for r in range(p)) == whole


@pytest.mark.training
def test_a_sharded_optimiser_goes_on_where_it_was_stopped(found):
    for r in range(2):
        mine = found[2][r]["goes on"]
        assert mine["same"] and mine["far"] < 1e-10


@pytest.mark.training
@pytest.mark.parametrize("p", SIZES)
def test_gradients_are_shortened_as_in_one_process(p, found):
    """A parameter that all workers have counts once: PyTorch's own function refuses a model that has both kinds."""
    names = {"data_parallel", "fully_sharded", "tensor_parallel", "pipeline"}
    for r in range(p):
        assert set(found[p][r]["clipped"]) == names | ({TOGETHER[0]} if p == 4 else set())
        for mine in found[p][r]["clipped"].values():
            assert mine["norm"] == pytest.approx(mine["right"], rel=1e-10)
            assert mine["after"] == pytest.approx(mine["right"] / 10, rel=1e-10) and mine["gradient"] < 1e-10


@pytest.mark.training
@pytest.mark.parametrize("p", SIZES)
def test_a_sharded_model_computes_in_one_dtype_and_is_held_in_another(p, found):
    """Parameters are gathered with half of the bytes; gradients are summed, and all is held, in float32."""
    c = config(**EVEN)
    blocks, rest = costs.parameters(c) - costs.rest(c), costs.rest(c)
    for r in range(p):
        mine = found[p][r]["computed in"]
        assert mine["inside"] == ["torch.bfloat16"] and mine["held"] == ["torch.float32"]
        assert 1e-6 < mine["far"] < 0.05  # of the gradient's length
        assert mine["gathered"] == (p - 1) / p * (2 * blocks + rest) * 2
        assert mine["scattered"] == (p - 1) / p * (blocks + rest) * 4


@pytest.mark.training
@pytest.mark.parametrize("p", SIZES)
def test_a_checkpoint_of_four_workers_is_read_by_others(p, found):
    for r in range(p):
        read = found[p][r]["shards"]
        assert read["same"] and read["loss"] < 1e-10 and read["gradient"] < 1e-10


@pytest.mark.training
@pytest.mark.parametrize("p", SIZES)
def test_a_training_that_is_shared_takes_the_steps_of_one_alone(p, found):
    """Shares of a batch differ in size, and each step is of two batches; without Adam, parameters agree as well."""
    for r in range(p):
        mine = found[p][r]["fits"]
        assert mine["steps"] == 3 and mine["loss"] < 1e-10 and mine["parameters"] < 1e-10


# ---- What cannot be split says so -----------------------------------------------------------------------------------


class Side:
    """A mesh of so many workers, for what is refused before anybody is asked."""

    def __init__(self, p):
        self.p = p

    def size(self):
        return self.p

    def get_local_rank(self):
        return 0


@pytest.mark.parametrize(
    "split, more, p, sentence",
    [
        ("tensor_parallel", {}, 3, "n_heads must split evenly into the number of workers; got n_heads=8"),
        ("tensor_parallel", {"n_kv_heads": 2}, 4, "n_kv_heads must split evenly"),
        ("tensor_parallel", {"qk_norm": True}, 2, "qk_norm must be off; got on. Each worker would have the"),
        (
            "tensor_parallel",
            {"dropout": 0.1},
            2,
            "dropout must be 0; got dropout=0.1. Each worker would draw",
        ),
        ("stage_of", {"tied": True}, 2, "must not share a table; got tied. The first and the last"),
        ("stage_of", {}, 5, "there must be a block a worker; got 4 for 5"),
    ],
)
def test_what_cannot_be_split_is_one_sentence(split, more, p, sentence):
    with pytest.raises(ValueError, match=sentence):
        getattr(parallel, split)(gpt(**more), Side(p))


@pytest.mark.parametrize(
    "more", [{}, {"tied": True}, {"positions": "rotary", "layout": "halves", "norm": "rms"}]
)
def test_the_rest_is_what_is_outside_the_blocks(more):
    model = GPT(config(**more))
    inside = sum(one.numel() for one in model.blocks.parameters())
    assert costs.rest(config(**more)) == sum(one.numel() for one in model.parameters()) - inside


def test_the_stages_are_the_model():
    """One behind the other they compute what it computes, and each parameter is in one of them."""
    model, tokens = gpt(), torch.randint(11, (2, N))
    stages = [parallel.Stage(model, r, 3) for r in range(3)]
    X = tokens
    for stage in stages:
        X = stage(X)
    assert torch.equal(X, model(tokens))
    names = [name for stage in stages for name, _ in stage.named_parameters()]
    assert sorted(names) == sorted(name for name, _ in model.named_parameters())
