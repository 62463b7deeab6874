"""Every number of the page's model unfolds: it equals its equation on its inputs, and the book has that equation."""

import json
import math
import random
import re
from pathlib import Path

import pytest
import torch
from browser_model import in_node
from inside_torch import Inside

from attnlib.js.breaks import BREAKS
from attnlib.js.held_out import held_out
from attnlib.js.kinds import KINDS
from attnlib.models.course import END, course_tokenizer

ROOT = Path(__file__).resolve().parent.parent
TEXT = "class Queue:\n    def __init__(self, items):\n        self.items = list(items)\n\n    def put(self, item):\n"
N, L, HEADS, WIDTH, D, HIDDEN, VOCAB = 24, 4, 4, 64, 256, 1024, 2048
SETTINGS = {"temperature": 0.8, "topK": 40, "nucleus": 0.95}
STATE = """
const read = (tokens, settings) => {
  const run = m.newRun(gpt, [], true);
  m.read(gpt, run, tokens);
  return m.newState(gpt, run, settings, (token) => tokenizer.decode([token]));
};
const state = read(given.tokens, given.settings);
"""


def tokens_read():
    by = course_tokenizer()
    return (by.encode(END) + by.encode_ordinary(TEXT))[:N]


def addresses(rng, tokens):
    """For each kind where one of its numbers may stand, drawn by chance."""
    t = rng.randrange(1, N)
    j, l, h, c, i, u = (rng.randrange(n) for n in (t + 1, L, HEADS, WIDTH, D, HIDDEN))
    n, w, k, half = rng.randrange(3), rng.randrange(VOCAB), rng.randrange(L + 1), rng.randrange(2)
    name = rng.choice(["W_Q", "W_K", "W_V", "W_O"])
    norm = [rng.randrange(L + 1) if n == 0 else l, n]
    likely = tokens[min(t, N - 1)]
    return {
        "bits": [t, likely], "draw": [t, 0], "p": [k, t, w], "z": [k, t, w], "Z": [*norm, t, i], "mean": [*norm, t],
        "variance": [*norm, t], "embedding": [t, i], "X": [half, max(l, 1 - half), t, i], "attended": [l, t, i],
        "O": [l, h, t, c], "P": [l, h, t, j], "S": [l, h, t, j], "Q": [l, h, t, c], "K": [l, h, t, c],
        "V": [l, h, t, c], "A": [l, t, u], "H": [l, t, u], "network": [l, t, i], "W": [l, name, i, rng.randrange(D)],
        "b": [l, name, i], "gain": [*norm, i], "shift": [*norm, i],
    }  # fmt: skip


def drawn(count):
    """Addresses, spread evenly over the kinds."""
    rng, tokens = random.Random(20261127), tokens_read()
    kinds = list(KINDS)
    return [[kind, *addresses(rng, tokens)[kind]] for kind in (kinds[n % len(kinds)] for n in range(count))]


def shown_again(found):
    """The equation of a kind, on the inputs that are shown."""
    g = {one["letter"]: one["value"] for one in found["given"]}
    rows = (
        [[cell["value"] for cell in row["cells"]] for row in found["terms"]["rows"]] if found["terms"] else []
    )
    total = math.fsum(math.prod(row) for row in rows)
    match found["kind"]:
        case "bits":
            return -math.log(g["p_w"]) / math.log(2)
        case "draw":
            return math.exp(g["z_w"] / g["T"]) / math.fsum(math.exp(z / g["T"]) for (z,) in rows)
        case "p":
            return math.exp(g["z_w"]) / math.fsum(math.exp(z) for (z,) in rows)
        case "P":
            return math.exp(g["s_j"]) / math.fsum(math.exp(s) for (s,) in rows)
        case "z" | "O":
            return total
        case "S":
            return total / math.sqrt(g["d_k"])
        case "Z":
            return g["γ_i"] * (g["x_i"] - g["μ"]) / math.sqrt(g["σ²"] + g["ε"]) + g["β_i"]
        case "mean":
            return total / g["d"]
        case "variance":
            return math.fsum((x - g["μ"]) ** 2 for (x,) in rows) / g["d"]
        case "embedding":
            return g["E_wi"] + g["P_ti"]
        case "X":
            return g["r_i"] + g["y_i"]
        case "attended" | "Q" | "K" | "V" | "A" | "network":
            return total + g["b_i"]
        case "H":
            a = g["a"]
            return a * (1 + math.tanh(math.sqrt(2 / math.pi) * (a + 0.044715 * a**3))) / 2
        case "W":
            return g["n"] * g["r"]


def sizes_of(found):
    """The largest number that the equation adds up: what an error is relative to."""
    terms = [abs(row["term"]) for row in found["terms"]["rows"]] if found["terms"] else []
    return max(
        [abs(found["value"]), *terms] if found["kind"] not in ("p", "draw", "P") else [abs(found["value"])]
    )


@pytest.fixture(scope="module")
def unfolded(tmp_path_factory):
    given = {"tokens": tokens_read(), "settings": SETTINGS, "at": drawn(230)}
    program = f"""{STATE}
    const kept = ([kind, t, i]) => [kind, t, m.order(m.scoresAt(gpt, state.run, t))[i]]; // settings leave tokens out
    const inside = given.at.map((at) => m.unfold(state, at[0] === "draw" ? kept(at) : at));
    const opened = inside.flatMap(({{ given, terms }}) =>
      [...given, ...(terms ? terms.rows.slice(0, 3).flatMap((row) => row.cells) : [])].filter((one) => one.open));
    answer({{ inside, opened: opened.map((one) => [one, m.unfold(state, m.addressOf(state, one.open), 3).value]) }});
    """
    return in_node(tmp_path_factory.mktemp("unfold"), program, given)


def test_two_hundred_random_numbers_equal_their_equation_on_their_inputs(unfolded):
    computed = [found for found in unfolded["inside"] if found["given"] or found["terms"]]
    assert len(computed) >= 200 and len({found["kind"] for found in computed}) == len(KINDS) - 3
    for found in computed:
        assert shown_again(found) == pytest.approx(found["value"], rel=0, abs=1e-5 * sizes_of(found)), found[
            "where"
        ]
        if found["terms"]:
            assert found["terms"]["n"] == len(found["terms"]["rows"])
            assert found["terms"]["sum"] == pytest.approx(
                sum(row["term"] for row in found["terms"]["rows"]), rel=1e-9, abs=1e-9
            )


def test_each_input_opens_as_the_number_that_was_shown(unfolded):
    assert len(unfolded["opened"]) > 700
    for shown, value in unfolded["opened"]:
        assert value == shown["value"], shown


def test_every_path_ends_at_what_is_learned(tmp_path):
    """Opened again and again, by chance, every number ends at a parameter, and no path is longer than the model."""
    program = f"""{STATE}
    let seed = 7;
    const chance = (n) => Math.floor(m.uniform(7, seed++) * n);
    const path = () => {{
      const kinds = [];
      let at = ["bits", given.tokens.length - 2, given.tokens.at(-1)];
      for (;;) {{
        const {{ kind, given, terms }} = m.unfold(state, at, 40);
        kinds.push(kind);
        const all = [...given, ...(terms?.rows ?? []).flatMap((row) => row.cells)].filter((one) => one.open);
        if (!all.length) return kinds;
        const computed = all.filter((one) => !/^(W|b|gain|shift)\\b/.test(one.open));
        const inputs = computed.length ? computed : all;
        at = m.addressOf(state, inputs[chance(inputs.length)].open);
      }}
    }};
    answer(Array.from({{ length: 60 }}, path));
    """
    paths = in_node(tmp_path, program, {"tokens": tokens_read(), "settings": SETTINGS})
    assert {path[-1] for path in paths} <= {"W", "b", "gain", "shift"} and max(map(len, paths)) < 60
    assert {kind for path in paths for kind in path} > {
        "S",
        "Q",
        "K",
        "V",
        "P",
        "O",
        "A",
        "H",
        "network",
        "X",
        "mean",
    }


def test_an_address_that_the_run_has_not_is_refused(tmp_path):
    wrong = [
        "",
        "toString.1",
        "S.2.1.3.7",
        "X.0.9.1.1",
        "P.0.0.99.1",
        "W.0.W_9.1.1",
        "p.4.3",
        "Q.1.1.1.x",
        "constructor",
    ]
    program = f"{STATE}\nanswer(given.wrong.map((one) => m.addressOf(state, one)));"
    assert in_node(tmp_path, program, {"tokens": tokens_read(), "settings": SETTINGS, "wrong": wrong}) == [
        None
    ] * len(wrong)


def test_the_numbers_are_those_of_pytorch(unfolded):
    inside = Inside(tokens_read())
    pairs = zip(drawn(230), unfolded["inside"], strict=True)
    compared = [(at, found) for at, found in pairs if at[0] not in ("draw", "bits")]
    assert len(compared) > 200
    for at, found in compared:
        assert found["value"] == pytest.approx(inside.value(*at), rel=1e-6, abs=1e-6), at


# ---- Backwards -------------------------------------------------------------------------------------------------------

TARGET = (18, 13)  # a position, and the token whose surprise after it is differentiated


def gradients(folder, at, out="[]"):
    program = f"""{STATE.replace("newRun(gpt, []", f"newRun(gpt, {out}")}
    const G = m.surpriseBackward(gpt, state.run, ...given.target);
    answer({{ found: given.at.map((one) => m.gradientOf(state, G, one)), moved: m.moved(state, G),
              bits: m.bits(m.scoresAt(gpt, state.run, G.t), G.token) }});
    """
    return in_node(
        folder, program, {"tokens": tokens_read(), "settings": SETTINGS, "at": at, "target": TARGET}
    )


def test_gradients_of_random_numbers_are_those_of_pytorch(tmp_path):
    at = [one for one in drawn(460) if one[0] not in ("bits", "draw")]
    at += [["p", L, *TARGET], *([kind, L, TARGET[0], w] for kind in "zp" for w in (5, 900))]
    at += [["Z", L, 0, TARGET[0], i] for i in (0, 100)] + [
        [kind, L, 0, TARGET[0]] for kind in ("mean", "variance")
    ]
    at += [["W", 0, "E", w, 3] for w in (*TARGET, tokens_read()[4])] + [["W", 0, "places", 4, 9]]
    inside = Inside(tokens_read())
    inside.backward(*TARGET)
    theirs = [inside.gradient(*one) for one in at]
    found = gradients(tmp_path, at)["found"]
    flowing = [(one, ours, true) for one, ours, true in zip(at, found, theirs, strict=True) if true]
    assert len(flowing) > 200 and {one[0] for one, *_ in flowing} == set(KINDS) - {"bits", "draw"}
    for one, ours, true in zip(at, found, theirs, strict=True):
        assert ours == pytest.approx(true, rel=1e-3, abs=1e-9), one


def test_a_small_step_along_a_gradient_changes_the_surprise_by_as_much(tmp_path):
    """Of a weight of the run's own text: the embedding of a token is moved, and the text is read again."""
    at = ["W", 0, "E", tokens_read()[4], 7]
    program = f"""{STATE}
    const G = m.surpriseBackward(gpt, state.run, ...given.target);
    const [, , , w, i] = given.at;
    const bits = (step) => {{
      const saved = gpt.embed.W[w * 256 + i];
      gpt.embed.W = Float64Array.from(gpt.embed.W);
      gpt.embed.W[w * 256 + i] = saved + step / gpt.embed.scale[w];
      const found = m.bits(m.scoresAt(gpt, read(given.tokens, {{}}).run, G.t), G.token);
      gpt.embed.W[w * 256 + i] = saved;
      return found;
    }};
    answer([m.gradientOf(state, G, given.at), (bits(1e-4) - bits(-1e-4)) / 2e-4]);
    """
    given = {"tokens": tokens_read(), "settings": SETTINGS, "at": at, "target": TARGET}
    ours, stepped = in_node(tmp_path, program, given)
    assert ours == pytest.approx(stepped, rel=1e-5) and ours


def test_what_is_taken_out_gets_no_gradient(tmp_path):
    out = "[{ heads: [new Float64Array(64)], network: new Float64Array(256) }]"
    at = [["S", 0, 0, 9, 3], ["Q", 0, 0, 18, 3], ["S", 0, 1, 9, 3], ["X", 1, 0, 9, 3]]
    found = gradients(tmp_path, at, out)["found"]
    assert found[:2] == [0, 0] and all(found[2:])


def test_leave_one_out_is_a_text_with_another_token(tmp_path):
    tokens, neutral = tokens_read(), course_tokenizer().encode(" ")[0]
    program = f"""{STATE}
    const G = m.surpriseBackward(gpt, state.run, ...given.target);
    const other = m.newRun(gpt);
    answer([0, 5, 18].map((j) => m.leaveOut(state, G, other, j, given.neutral)));
    """
    given = {"tokens": tokens, "settings": SETTINGS, "target": TARGET, "neutral": neutral}
    found = in_node(tmp_path, program, given)
    t, token = TARGET

    def bits(text):
        return -math.log2(Inside(text).kept["p", L][t, token].item())

    for j, ours in zip((0, 5, 18), found, strict=True):
        changed = [*tokens[:j], neutral, *tokens[j + 1 :]]
        assert ours == pytest.approx(bits(changed) - bits(tokens), abs=1e-4)


def test_what_moved_the_surprise_is_gradient_times_embedding(tmp_path):
    inside = Inside(tokens_read())
    inside.backward(*TARGET)
    X = inside.kept["stream", 0]
    theirs = (X * X.grad).norm(dim=-1)[: TARGET[0] + 1].tolist()
    assert gradients(tmp_path, [])["moved"] == pytest.approx(theirs, rel=1e-4)


# ---- The book has what the page says ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.page])
def test_the_equation_stands_under_its_number_on_its_page(name):
    kind = KINDS[name]
    cells = json.loads((ROOT / "book" / f"{kind.page}.ipynb").read_text("utf8"))["cells"]
    if kind.label:
        text = "\n".join("".join(cell["source"]) for cell in cells)
        equation = re.search(rf'<a id="{kind.label}"></a>\s*\$\$(.*?)\$\$', text, re.S)
        assert equation and f"\\tag{{{kind.number}}}" in equation[1]
    else:
        chapter, page = (int(part.split("-")[0]) for part in kind.page.split("/"))
        assert kind.number == f"{chapter}.{page}"


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.line])
def test_the_line_of_numpy_stands_in_its_file(name):
    kind = KINDS[name]
    lines = (ROOT / "attnlib" / kind.file).read_text("utf8").splitlines()
    assert any(line.split("  #")[0].strip() == kind.line for line in lines)


def test_the_kinds_of_the_page_are_those_of_the_model(tmp_path):
    assert in_node(tmp_path, "answer(Object.keys(m.KINDS))") == list(KINDS)


# ---- Broken on purpose -----------------------------------------------------------------------------------------------


def test_each_broken_model_is_that_of_pytorch_read_at_once_or_token_by_token(tmp_path):
    program = """
    const surprises = (broken) => {
      const [whole, single] = [m.newRun(gpt, [], false, broken), m.newRun(gpt, [], false, broken)];
      m.read(gpt, whole, given.tokens);
      given.tokens.forEach((_, t) => m.follow(gpt, single, given.tokens.slice(0, t + 1)));
      return [whole, single].map((run) => m.surprise(gpt, run));
    };
    answer(Object.fromEntries(["", ...given.breaks].map((broken) => [broken, surprises(broken)])));
    """
    tokens = tokens_read()
    found = in_node(tmp_path, program, {"tokens": tokens, "breaks": list(BREAKS)})
    after = torch.tensor(tokens[1:])[:, None]

    def theirs(broken):
        P = Inside(tokens, broken).kept["p", L]
        return (-P[:-1].gather(1, after)[:, 0].log2()).tolist()

    for broken, (whole, single) in found.items():
        assert whole == pytest.approx(theirs(broken), abs=1e-3), broken
        assert single == pytest.approx(whole, abs=1e-3), broken
        assert broken == "" or whole != pytest.approx(found[""][0], abs=1e-3)


def test_what_the_lessons_say_of_the_model():
    inside = Inside(tokens_read())
    S = torch.stack([inside.kept["S", l].masked_fill(~inside.mask, -math.inf) for l in range(L)])
    assert (8 * S).softmax(-1).amax(-1).mean() > 0.9 > 0.7 > S.softmax(-1).amax(-1).mean()  # no square root
    variance = [inside.kept["variance", 0, n].mean().item() for n in (1, 2)]
    assert all(0.005 < one < 0.02 for one in variance)  # an epsilon of 0.1 is ten times as large
    places = inside.model.places.weight
    near, far = (torch.cosine_similarity(places[k:], places[:-k]).mean() for k in (1, 64))
    assert near > 0.75 > 0.5 > far  # neighbouring positions have similar vectors ...


def test_positions_one_too_late_hardly_change_the_surprise_but_the_logits():
    rows = held_out().rows[:4]
    more, moved = [], []
    for row in rows:
        right, late = Inside(row), Inside(row, "late")
        P, Q = (one.kept["p", L][range(len(row) - 1), row[1:]].log2() for one in (right, late))
        more.append((P - Q).mean().item())
        moved.append((right.kept["z", L] - late.kept["z", L]).abs().max().item())
    assert abs(sum(more)) / len(more) < 0.1 and min(moved) > 1


@pytest.mark.parametrize("name", BREAKS)
def test_the_lesson_leads_to_its_page_and_the_break_has_an_address(name):
    one = BREAKS[name]
    text = (ROOT / "book" / f"{one.page}.ipynb").read_text("utf8")
    assert f"{one.label}" in text and (one.label == "" or f"\\\\tag{{{one.number}}}" in text)
    assert re.search(
        rf"[(|]{name}[)|]", (ROOT / "attnlib" / "js" / "picture" / "address.js").read_text("utf8")
    )
