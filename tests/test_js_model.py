"""The page's model in JavaScript is the package's: tokens, logits, greedy text, filters, marks, parts taken out."""

import json
import math
import random
import re
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest
import torch
from browser_model import in_node

from attnlib.data import stdlib
from attnlib.data.results import load_result
from attnlib.interpret.patch import patched_head
from attnlib.js import marks as python_marks
from attnlib.js.eight_bits import quantise_rows, read_safetensors, restored
from attnlib.js.held_out import LENGTH, MOST, QUESTIONS, ROWS, held_out
from attnlib.js.script import SIZES, model_file, packed, page_script
from attnlib.models.course import CONFIG, END, FOLDER, course_model, course_tokenizer
from attnlib.nn import sampling

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "experiments"))

import inside_questions  # noqa: E402  (the script that stores the answers)

PROMPTS = 50
NEW = 60
LARGEST = 60_000  # bytes of script, beside the style in it


@pytest.fixture(scope="module")
def eight():
    return course_model(bits=8)


@pytest.fixture(scope="module")
def prompts():
    return held_out_prompts()


def held_out_prompts():
    """The beginnings of 50 lines of held-out modules, 16 tokens each."""
    by, rng = course_tokenizer(), random.Random(20261125)
    texts = [text for _, text in stdlib.texts("held out") if len(text) > 2000]
    found = []
    for i in range(PROMPTS):
        text = texts[i % len(texts)]
        line = text.index("\n", rng.randrange(len(text) - 1000)) + 1
        found.append(by.encode(END) + by.encode_ordinary(text[line : line + 300])[:16])
    return found


# ---- The stored integers ---------------------------------------------------------------------------------------------


def test_a_rows_numbers_move_by_at_most_half_its_scale(rng):
    W = rng.normal(size=(7, 11)).astype(np.float32)
    W[3] = 0
    rows = quantise_rows(W)
    assert rows.integers.dtype == np.int8 and abs(rows.integers.astype(int)).max() == 127
    assert (abs(restored(rows) - W) <= rows.scales[:, None] * 0.5001).all()
    assert (restored(rows)[3] == 0).all()


def test_the_file_is_read_as_safetensors_reads_it():
    from safetensors.torch import load_file

    ours, theirs = read_safetensors(FOLDER / "model.safetensors"), load_file(FOLDER / "model.safetensors")
    assert set(ours) == set(theirs)
    assert all(torch.equal(torch.from_numpy(ours[name]), theirs[name].float()) for name in ours)


def test_the_page_loads_less_than_four_megabytes_of_numbers_and_the_sizes_are_the_models():
    _, numbers = packed()
    assert len(numbers) < 4_000_000 and len(model_file()) < 5_300_000
    assert all(getattr(CONFIG, name) == size for name, size in SIZES.items())


@pytest.mark.bad_input
def test_only_two_sizes_of_number_can_be_had():
    with pytest.raises(ValueError, match="course_model: bits must be 8 or 16; got bits=4"):
        course_model(bits=4)


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the held-out text is that of CPython 3.11")
def test_eight_bits_cost_less_than_a_thousandth_of_a_bit_a_byte(eight):
    by = course_tokenizer()
    end = by.encode(END)
    held_out = list(stdlib.texts("held out"))
    tokens = [n for _, text in held_out for n in end + by.encode_ordinary(text)]
    rows = torch.tensor([tokens[i : i + 257] for i in range(0, len(tokens) - 257, 256)][::16])
    n_bytes = len(by.decode_bytes(rows[:, 1:].flatten().tolist()))

    def bits_a_byte(model):
        with torch.inference_mode():
            nats = torch.nn.functional.cross_entropy(
                model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten(), reduction="sum"
            )
        return nats.item() / math.log(2) / n_bytes

    assert bits_a_byte(eight) - bits_a_byte(course_model()) <= 0.001


# ---- Tokens ----------------------------------------------------------------------------------------------------------

SPECIALS = [
    "", " ", "\n\n", "a\u0085b", "\ufeffx", "x \ufeff y", " \u0085 ", "a\u00a0\u3000b", "I'll it's 'S we've'd",
    END, f"a{END}b{END}", "<|endoftext", "\udcff", "a\udc80\udcc3 b", "\udcc3\udca9", "\udced\udca0\udc80",
    "\udcf4\udc90\udc80\udc80", "\udcc0\udc80", "\udce2\udc82A", "\U0001f600\U0001f468\u200d\U0001f469",
    "é e\u0301", "\u4f60\u597d\uff0c\u4e16\u754c", "x" * 300, "\x00\x01\x1c\x1f\x7f", "\r\n\t\v\f",
]  # fmt: skip


def texts_to_cut(n):
    """Texts from code, from characters of all kinds, and from letters and numerals that Unicode got lately."""
    rng = random.Random(0)
    letters = [chr(c) for c in range(0x110000) if unicodedata.category(chr(c))[0] in "LNZ"]
    every = [
        chr(c) for c in (*range(0xD800), *range(0xE000, 0x110000)) if unicodedata.category(chr(c)) != "Cn"
    ]
    recent = [chr(c) for c in (*range(0x31350, 0x33479), *range(0x1E4D0, 0x1E4FA), *range(0x10D40, 0x10D86))]
    code = [text for _, text in stdlib.texts("held out")]
    pools = [letters, every, recent, list("'sdmtlvre 0a\n\t.(\u0085\ufeff"), letters[:400] + [" "] * 40]
    drawn = list(SPECIALS)
    while len(drawn) < n:
        pool = pools[len(drawn) % 6 - 1] if len(drawn) % 6 else None
        if pool is None:
            text, at = rng.choice(code), rng.random()
            drawn.append(text[int(at * len(text)) :][: rng.randrange(400)])
        else:
            drawn.append("".join(rng.choices(pool, k=rng.randrange(1, 40))))
    return drawn


def test_it_cuts_two_thousand_texts_as_the_package_does(tmp_path):
    texts, by = texts_to_cut(2000), course_tokenizer()
    found = in_node(
        tmp_path,
        "answer(given.map((text) => [tokenizer.encode(text), tokenizer.encodeOrdinary(text), "
        "tokenizer.decode(tokenizer.encode(text))]))",
        texts,
    )
    for text, (ours, ordinary, back) in zip(texts, found, strict=True):
        assert ours == by.encode(text), repr(text)
        assert ordinary == by.encode_ordinary(text), repr(text)
        assert back == by.decode(ours), repr(text)


def test_half_a_character_is_refused_in_both(tmp_path):
    program = """
    const refused = (text) => {
      try { tokenizer.encode(text); return ''; } catch (error) { return error.message; }
    };
    answer(given.map(refused));
    """
    (said,) = in_node(tmp_path, program, ["a\ud83d"])
    assert "half a character" in said
    with pytest.raises(ValueError, match="half of one"):
        course_tokenizer().encode("a\ud83d")


# ---- Scores and text -------------------------------------------------------------------------------------------------


def test_logits_and_fifty_greedy_texts_are_those_of_pytorch(tmp_path, eight, prompts):
    long = (course_tokenizer().encode(END) + course_tokenizer().encode_ordinary(held_out_text(3)))[:256]
    program = """
    const write = (prompt) => {
      const run = m.newRun(gpt);
      m.read(gpt, run, prompt);
      while (run.tokens.length < prompt.length + given.new)
        m.read(gpt, run, [m.greedy(m.scoresAt(gpt, run, run.tokens.length - 1))]);
      return run.tokens.slice(prompt.length);
    };
    const run = m.newRun(gpt);
    m.read(gpt, run, given.long.slice(0, 99));
    m.read(gpt, run, given.long.slice(99, 100));
    m.read(gpt, run, given.long.slice(100));
    const lens = [0, 1, 2, 3, 4].map((k) => [...m.lens(gpt, run, k, 77)]);
    const P = [...run.kept[2].P.slice(256 * 256, 256 * 258)]; // block 2, head 1, positions 0 and 1
    answer({ texts: given.prompts.map(write), lens, surprise: m.surprise(gpt, run), P,
             scores: [0, 98, 99, 100, 255].map((t) => [...m.scoresAt(gpt, run, t)]) });
    """
    found = in_node(tmp_path, program, {"prompts": prompts, "new": NEW, "long": long})
    tokens = torch.tensor([long])
    with torch.inference_mode():
        Z = eight(tokens)[0]
        ours = torch.tensor(found["scores"])
        assert (ours - Z[[0, 98, 99, 100, 255]]).abs().max() <= 2e-4
        assert found["surprise"] == pytest.approx(
            (-Z.log_softmax(-1)[range(255), tokens[0, 1:]] / math.log(2)).tolist(), abs=1e-3
        )
        stream = [eight.places(eight.embed(tokens))]
        for block in eight.blocks:
            stream.append(block(stream[-1]))
        read_early = torch.stack([eight.unembed(eight.norm(X[0, 77])) for X in stream])
        assert (torch.tensor(found["lens"]) - read_early).abs().max() <= 2e-4
        P = eight.blocks[2].attention.attention_weights(eight.blocks[2].norm_1(stream[2]))
        assert (
            torch.tensor(found["P"])[:1] == 1
            and (torch.tensor(found["P"])[256:258] - P[0, 1, 1, :2]).abs().max() < 1e-5
        )
    texts = greedy_texts(eight, prompts)
    assert [ours == theirs for ours, theirs in zip(found["texts"], texts, strict=True)] == [True] * PROMPTS


def held_out_text(i):
    return [text for _, text in stdlib.texts("held out")][i]


def greedy_texts(model, prompts):
    """All prompts have one length, so they are written side by side."""
    tokens = torch.tensor(prompts)
    cache = model.new_kv_cache(CONFIG.context)
    with torch.inference_mode():
        new = model.next_scores(tokens, cache).argmax(-1)
        written = [new]
        while len(written) < NEW:
            written.append(model.next_scores(written[-1][:, None], cache).argmax(-1))
    return torch.stack(written, 1).tolist()


def test_a_part_that_is_taken_out_is_what_a_patch_in_pytorch_is(tmp_path, eight, prompts):
    means = load_result("course_means")["means"]
    program = """
    const zero = (n) => new Float32Array(n);
    const scores = (out) => {
      const run = m.newRun(gpt, out);
      m.read(gpt, run, given);
      return [...m.scoresAt(gpt, run, given.length - 1)];
    };
    const head = { heads: [null, null, null, data.means[1].heads[3]], network: null };
    answer([scores([undefined, head]), scores([{ heads: [zero(64)], network: null }]),
            scores([{ heads: [], network: data.means[0].network }]), scores([])]);
    """
    mean_head, zero_head, mean_network, whole = map(torch.tensor, in_node(tmp_path, program, prompts[0]))
    tokens = torch.tensor([prompts[0]])

    def close(ours):
        with torch.inference_mode():
            return (ours - eight(tokens)[0, -1]).abs().max() <= 2e-4

    assert close(whole)
    with patched_head(eight.blocks[1].attention, 3, torch.tensor(means[1]["heads"][3])[None, None]):
        assert close(mean_head) and not close(whole)
    with patched_head(eight.blocks[0].attention, 0, torch.zeros(1, 1, 64)):
        assert close(zero_head)
    hook = eight.blocks[0].feed_forward.register_forward_hook(
        lambda *_: torch.tensor(means[0]["network"]).expand(1, tokens.shape[1], -1)
    )
    assert close(mean_network)
    hook.remove()


# ---- Rates over held-out code ----------------------------------------------------------------------------------------


def test_the_held_out_rows_have_a_hundred_positions_of_each_kind():
    data = held_out()
    assert len(data.rows) == ROWS and {len(row) for row in data.rows} == {LENGTH}
    assert {name: len(set(found)) for name, found in data.positions.items()} == dict.fromkeys(QUESTIONS, MOST)
    by = course_tokenizer()
    for name, found in data.positions.items():
        for r, t in found:
            before, after = by.decode(data.rows[r][: t + 1]), by.decode([data.rows[r][t + 1]])
            assert {
                "closing bracket": after[0] in ")]}",
                "after self.": before.endswith("self."),
                "known name": after.strip() in before,
            }[name]
    assert data.rows != held_out_prompts() and len({tuple(row) for row in data.rows}) == ROWS


def rates_in_python(model, l, how="mean", rows=ROWS):
    """What `measure.js` computes of the first rows, with PyTorch and patched heads."""
    data, R = held_out(), torch.tensor(held_out().rows[:rows])
    places = [[(r, t) for r, t in found if r < rows] for found in data.positions.values()]
    bracket, attribute, name = (tuple(torch.tensor(one).T) for one in places)
    opening = torch.tensor([python_marks.open_brackets(data.pieces[r])[t] for r, t in places[0]])

    def bits():
        log_p = model(R)[:, :-1].log_softmax(-1)
        return -log_p.gather(-1, R[:, 1:, None])[..., 0] / math.log(2)

    def harm(h, mean):
        vector = torch.tensor(mean) if how == "mean" else torch.zeros(len(mean))
        with patched_head(model.blocks[l].attention, h, vector[None, None]):
            more = bits() - before
        return [more[bracket].mean().item(), more[attribute].mean().item(), more.mean().item()]

    with torch.inference_mode():
        before, stream, weight = bits(), [model.places(model.embed(R))], []
        for block in model.blocks:
            P = block.attention.attention_weights(block.norm_1(stream[-1]))
            weight += P[bracket[0], :, bracket[1], opening].mean(0).tolist()
            stream.append(block(stream[-1]))
        guesses = [model.unembed(model.norm(X[name])).argmax(-1) for X in stream]
        return {
            "n": [len(places[0]), len(places[1]), before.numel(), len(places[2])],
            "weight": weight,
            "harm": [
                harm(h, mean) for h, mean in enumerate(load_result("course_means")["means"][l]["heads"])
            ],
            "right": [(one == R[name[0], name[1] + 1]).float().mean().item() for one in guesses],
        }


@pytest.fixture(scope="module")
def block_two(eight):
    return rates_in_python(eight, 2)


def rates_in_node(folder, l, how, rows):
    program = """
    const zeros = new Float32Array(gpt.config.d_model / gpt.config.n_heads);
    const outs = data.means[given.l].heads.map((mean, h) => {
      const out = data.means.map(() => ({ heads: [], network: null }));
      out[given.l].heads[h] = given.how === 'mean' ? mean : zeros;
      return out;
    });
    const runs = [m.newRun(gpt), m.newRun(gpt)];
    const pieces = (one) => one.tokens.map((token) => tokenizer.decode([token]));
    const some = data.heldOut.slice(0, given.rows);
    answer(m.rates(some.map((one) => m.measure(gpt, runs, one, pieces(one), given.l, outs))));
    """
    return in_node(folder, program, {"l": l, "how": how, "rows": rows})


def same_rates(ours, theirs):
    assert ours["n"] == theirs["n"]
    assert ours["right"] == pytest.approx(theirs["right"], abs=1e-6)
    assert ours["weight"] == pytest.approx(theirs["weight"], abs=1e-4)
    np.testing.assert_allclose(ours["harm"], theirs["harm"], atol=1e-3)


def test_rates_over_a_hundred_positions_are_those_of_python(tmp_path, block_two):
    same_rates(rates_in_node(tmp_path, 2, "mean", ROWS), block_two)
    assert block_two["n"] == [MOST, MOST, ROWS * (LENGTH - 1), MOST]


def test_rates_with_zeros_in_the_first_block_are_those_of_python(tmp_path, eight):
    same_rates(rates_in_node(tmp_path, 0, "zero", 3), rates_in_python(eight, 0, "zero", 3))


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the held-out text is that of CPython 3.11")
def test_the_notebook_prints_these_rates(block_two):
    cells = json.loads((ROOT / "book" / "04-transformer" / "15-inside-a-gpt.ipynb").read_text("utf8"))[
        "cells"
    ]
    printed = "".join(
        "".join(one.get("text", "")) for cell in cells for one in cell.get("outputs", []) if "text" in one
    )
    for h, harm in enumerate(block_two["harm"]):
        assert f"without 2.{h}" + "".join(f"{x:15.2f}" for x in harm) in printed
    table = np.array2string(np.array(block_two["weight"]).reshape(4, 4), precision=2, suppress_small=True)
    assert table in printed
    for k, right in enumerate(block_two["right"]):
        where = f"after block {k - 1}" if k else "before block 0"
        assert f"{where}: right in {right:.2f} of {MOST}" in printed


# ---- Exercises -------------------------------------------------------------------------------------------------------


def test_the_exercises_answers_are_those_of_the_model(eight):
    stored, now = load_result("inside_questions"), inside_questions.measured(eight)
    assert stored["first-read"] == now["first-read"]
    assert stored["which-bracket"]["tokens"] == now["which-bracket"]["tokens"]
    for head, row in now["which-bracket"]["weights"].items():
        assert stored["which-bracket"]["weights"][head] == pytest.approx(row, abs=2e-4)
    for part, two in now["head-in-bits"]["probability"].items():
        assert stored["head-in-bits"]["probability"][part] == pytest.approx(two, abs=1e-4)
    assert set(stored["which-bracket"]["weights"]) == {f"{l}.{h}" for l in range(4) for h in range(4)}


# ---- From scores to a token ------------------------------------------------------------------------------------------


def test_filters_and_draws_are_those_of_the_package(tmp_path, rng):
    S = rng.normal(size=(6, 40)).round(1)  # with ties
    settings = [
        (1.0, None, None),
        (0.5, 3, None),
        (1.5, None, 0.6),
        (0.8, 7, 0.9),
        (2.0, 40, 1.0),
        (1.0, 1, 0.1),
    ]
    u = [0.0, 0.2, 0.5, 0.77, 0.9999, 1.0]
    program = """
    answer(given.map(([S, [temperature, topK, nucleus], u]) => {
      const P = m.probabilities(S, { temperature, topK: topK ?? undefined, nucleus: nucleus ?? undefined });
      return [[...P], m.draw(P, u)];
    }));
    """
    found = in_node(
        tmp_path, program, [[s.tolist(), list(one), x] for s, one, x in zip(S, settings, u, strict=True)]
    )
    for s, (temperature, k, p), x, (P, drawn) in zip(S, settings, u, found, strict=True):
        Z = torch.tensor(s)[None] / temperature
        Z = Z if k is None else sampling.keep_top_k(Z, k)
        Z = Z if p is None else sampling.keep_nucleus(Z, p)
        np.testing.assert_allclose(P, Z.softmax(-1)[0], rtol=1e-9, atol=1e-12)
        assert drawn == sampling.sample(Z, torch.tensor([x], dtype=Z.dtype)).item()


def test_the_draws_of_a_seed_are_even_and_differ_between_seeds(tmp_path):
    u = np.array(
        in_node(
            tmp_path, "answer([1, 2].map((s) => Array.from({ length: 4000 }, (_, i) => m.uniform(s, i))))"
        )
    )
    sigma = math.sqrt(1 / 12 / 4000)
    assert (abs(u.mean(axis=1) - 0.5) < 4 * sigma).all() and u.min() >= 0 and u.max() < 1
    assert abs(np.corrcoef(u)[0, 1]) < 4 / math.sqrt(4000)
    assert abs(np.corrcoef(u[0, 1:], u[0, :-1])[0, 1]) < 4 / math.sqrt(4000)


def test_marks_are_the_same_in_both_languages(tmp_path):
    by = course_tokenizer()
    lists = [by.encode(END) + by.encode_ordinary(held_out_text(i)[500:1400]) for i in range(4)]
    pieces = [[by.decode([t]) for t in tokens] for tokens in lists]
    found = in_node(
        tmp_path,
        "answer(given.map(([tokens, pieces]) => m.marks(tokens, pieces)))",
        list(zip(lists, pieces, strict=True)),
    )
    for tokens, texts, ours in zip(lists, pieces, found, strict=True):
        theirs = python_marks.marks(tokens, texts)
        assert list(ours) == list(theirs)
        for kind, M in theirs.items():
            assert ours[kind] == [np.flatnonzero(row).tolist() for row in M], kind
            assert M.any() and not np.triu(M).any()


def test_the_script_of_the_page_is_small_and_needs_nothing():
    script, _, style = page_script().rpartition("document.head.append")
    assert len(script.encode()) <= LARGEST and len(style.encode()) < 6_500
    assert not re.search(r"^\s*import\b|\bimport\(|https?://(?!www\.w3\.org/2000/svg)", script, re.M)
