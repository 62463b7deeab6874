"""One of each picture to move, and how it is moved: for the tests that run where the book's own tests cannot."""

import numpy as np

from attnlib.data.bilingual import corpus, economic_area
from attnlib.data.results import load_result, measured
from attnlib.data.tokens import three_tokens
from attnlib.metrics.scaling_law import ScalingLaw, Shape
from attnlib.viz import explorables

# One of each, as a notebook might make it. Whoever adds an explorable adds it here.
WORDS = ["cat", "chased", "mouse"]
VECTORS = np.array([[1.0, 0], [0, 2], [1, 1]])
PAIRS = [economic_area(), *corpus(1, lengths=(5, 5))]


def cross_weights(seed: int = 0) -> list[np.ndarray]:
    """Weights of two layers with three heads for the pairs; some of them look at the right word."""
    rng = np.random.default_rng(seed)
    weights = []
    for pair in PAIRS:
        shares = rng.gamma(0.2, size=(2, 3, len(pair.target), len(pair.source)))
        for j, i in pair.sure:
            shares[:, :, i, j] += rng.random((2, 3))
        weights.append(shares / shares.sum(axis=-1, keepdims=True))
    return weights


def by_length() -> tuple[list[int], dict[str, dict[str, np.ndarray]]]:
    """The lengths of the stored experiment on the bottleneck, and each arm's mean of right words and sentences."""
    stored = load_result("bottleneck")
    return stored["lengths"], {
        arm: {key: measured(stored, "translation", arm, 1, key).mean(axis=0) for key in ("token", "exact")}
        for arm in stored["arms"]["translation"]
    }


SAMPLES = {
    "BlockFlow": lambda: explorables.BlockFlow(n=128, d_model=256),
    "BlockYears": lambda: explorables.BlockYears(norm="RMS norm", memory="8", qk="yes"),
    "ComputeValley": lambda: explorables.ComputeValley(
        ScalingLaw(0.0, 40.0, 0.45, 30.0, 0.35),
        Shape(3, 64, 32),
        [(1e12, 4e4, 0.31), (1e12, 2e5, 0.33), (1e13, 2e5, 0.2)],
    ),
    "DecodingTree": lambda: explorables.DecodingTree(
        [["the", "a"], ["cat", "dog"], ["slept", "ran"]], [0.6, 0.55, 0.1, 0.6, 0.3, 0.8, 0.1]
    ),
    "CrossViewer": lambda: explorables.CrossViewer(PAIRS, cross_weights(), word=2),
    "FillingState": lambda: explorables.FillingState(writes=[2, 4, 11, 13, 1], read=3, step=0.7),
    "FloatFormats": lambda: explorables.FloatFormats(x=1.0001, format="float16"),
    "HeadViewer": lambda: explorables.HeadViewer(
        [WORDS], np.full((1, 2, 4, 3, 3), 1 / 3), [[-1, 0, 1]], token=2
    ),
    "LabelSmoothing": lambda: explorables.LabelSmoothing(epsilon=0.2, vocab=16),
    "LengthAndAccuracy": lambda: explorables.LengthAndAccuracy(*by_length(), trained=20, length=20),
    "MaskPainter": lambda: explorables.MaskPainter(WORDS, VECTORS @ VECTORS.T, [False, True, True]),
    "MergeSteps": lambda: explorables.MergeSteps(
        [(b"h", b"e"), (b"t", b"he"), (b" ", b"the")], "then the hen", known=1
    ),
    "NearDuplicates": lambda: explorables.NearDuplicates(
        np.linspace(0.1, 1, 8),
        [False, True] * 4,
        np.random.default_rng(0).random((8, 128)) < np.linspace(0.1, 1, 8)[:, None],
        {2: 900, 4: 700, 8: 300, 16: 90, 32: 8},
        5000,
        rows=4,
        threshold=0.5,
    ),
    "OptimiserRace": lambda: explorables.OptimiserRace(angle=30, steps=25),
    "PatternPainter": lambda: explorables.PatternPainter(preset="strided", pair=[9, 4], painted=[120]),
    "PermutedTokens": lambda: explorables.PermutedTokens(WORDS, VECTORS, order=[2, 0, 1]),
    "PipelineSchedule": lambda: explorables.PipelineSchedule(schedule="1F1B", workers=3, parts=5),
    "QueryInThePlane": lambda: explorables.QueryInThePlane(*three_tokens(), np.array([1.0, 2.0])),
    "ScheduleDesigner": lambda: explorables.ScheduleDesigner(steps=60, warmup=15),
    "ScoresAndWidth": lambda: explorables.ScoresAndWidth(d_k=64),
    "SoftmaxTemperature": lambda: explorables.SoftmaxTemperature(
        ["the", "black", "cat"], [1.0, 6.0, 7.0], 2.0
    ),
    "TurnedHands": lambda: explorables.TurnedHands(place=100, before=5),
}

PAINTED = [[True, False, True], [False, False, False], [True, True, True]]
# For each: what the page sends when a hand moves it, what Python is then asked, and what Python sets.
MOVES = {
    "BlockFlow": (
        {"n": 4096, "inside": 2},
        "w.n, [round(share, 3) for share in w.shares()]",
        {"d_model": 1024},
    ),
    "BlockYears": ({"memory": "latent", "n": 1024}, "w.memory, w.costs()", {"norm": "LayerNorm"}),
    "ComputeValley": (
        {"budget": 13.5, "factor": 2.0},
        "w.budget, w.factor, round(w.best()), round(w.excess(w.best() * 2**w.factor), 6)",
        {"budget": 15.0},
    ),
    "DecodingTree": (
        {"upper": [0.9, 0.55, 0.1, 0.6, 0.3, 0.8, 0.1], "width": 3},
        "w.text(w.said(w.width).tokens), w.probabilities().round(3).tolist()",
        {"temperature": 0.5},
    ),
    "CrossViewer": (
        {"sentence": 1, "layer": 1, "head": 2, "word": 3},
        "w.word, round(w.error_rate(), 3), w.chosen().round(3).tolist()",
        {"sentence": 0, "head": 1},
    ),
    "FillingState": (
        {"writes": [0, 5, 10, 1, 14], "read": 2, "overwrite": True, "step": 0.5, "seed": 3},
        "w.overwrite, w.read, w.recalled(), w.numbers(), w.reads()['delta rule'].round(3).tolist()",
        {"d": 3},
    ),
    "FloatFormats": (
        {"x": 70000.0, "format": "bfloat16"},
        "w.format, w.stored(), w.beside(), w.bits()",
        {"x": -3e-6, "format": "float16"},
    ),
    "HeadViewer": ({"token": 3, "head": 1}, "w.token, w.chosen().round(3).tolist()", {"layer": 1}),
    "LabelSmoothing": (
        {"epsilon": 0.3, "vocab": 1024, "confidence": 0.5},
        "w.vocab, round(w.best(), 4), round(w.gap(), 3), round(w.loss(w.confidence), 3)",
        {"epsilon": 0.0},
    ),
    "LengthAndAccuracy": (
        {"length": 22, "level": 0.5, "measure": "exact"},
        "w.length, w.below()",
        {"level": 0.75},
    ),
    "MaskPainter": (
        {"mask": PAINTED, "rules": []},
        "w.rules, w.weights().round(3).tolist()",
        {"fill": "zero", "format": "float16"},
    ),
    "MergeSteps": ({"text": "the other", "known": 2}, "w.text, w.tokens()", {"known": 3}),
    "NearDuplicates": (
        {"rows": 16, "threshold": 0.3},
        "w.rows, w.counts()",
        {"threshold": 0.9},
    ),
    "OptimiserRace": (
        {"angle": 45, "rate": 0.01},
        "w.angle, [round(loss, 6) for loss in w.losses().values()]",
        {"adam_rate": 0.1, "steep": 10.0},
    ),
    "PatternPainter": (
        {"preset": "dilated", "layers": 3, "painted": [121], "pair": [20, 2], "width": 5},
        "w.pair, w.edges(), w.farthest(), len(w.never()), int(w.reached().sum())",
        {"causal": False},
    ),
    "PermutedTokens": (
        {"order": [1, 0, 2], "position": 1, "mask": "causal"},
        "w.position, w.gaps().round(3).tolist()",
        {"order": [0, 1, 2]},
    ),
    "PipelineSchedule": (
        {"workers": 5, "schedule": "GPipe", "tick": 9, "parts": 7},
        "w.tick, w.kept(), round(w.waiting(), 3), w.table().tolist()",
        {"schedule": "1F1B", "parts": 2},
    ),
    "QueryInThePlane": ({"q": [0, -1.5]}, "w.q, w.output()[1].round(3).tolist()", {"q": [1.0, 0.0]}),
    "ScheduleDesigner": (
        {"kind": "linear", "warmup": 10},
        "w.kind, round(w.total(), 6), round(w.high(), 3)",
        {"kind": "root", "steps": 100},
    ),
    "ScoresAndWidth": (
        {"d_k": 4, "scale": "root"},
        "w.d_k, w.mean_weights().round(3).tolist()",
        {"d_k": 512},
    ),
    "SoftmaxTemperature": (
        {"scores": [0, 2.5, 0], "temperature": 2},
        "w.scores, w.weights().round(3).tolist()",
        {"scores": [3.0, 4.0, 5.0]},
    ),
    "TurnedHands": (
        {"place": 500, "before": 9, "pairs": 2},
        "w.place, w.scores().round(3).tolist()",
        {"base": 100.0},
    ),
}
