"""The two files of the page *Inside a GPT*: its script, and the model, which is fetched only when a reader wants it.

The model's file is one call, `courseModel({...})`, so that it also loads from a disk, where pages may not fetch. In it
are the tokenizer, the sizes, and all numbers in base 64.
"""

import base64
import json
import re
import string
from functools import cache
from pathlib import Path
from typing import Any

from attnlib.data.bpe.alphabet import spelled
from attnlib.data.bpe.files import load_tokenizer
from attnlib.data.results import load_result
from attnlib.js.breaks import BREAKS
from attnlib.js.eight_bits import Rows, quantised, read_safetensors
from attnlib.js.held_out import held_out
from attnlib.js.kinds import KINDS
from attnlib.js.letters import CLASSES, ranges_of, written

HERE = Path(__file__).parent
COURSE = HERE.parent / "data" / "course"
LETTERS = string.digits + string.ascii_letters
SIZES = {
    "vocab": 2048,
    "context": 256,
    "d_model": 256,
    "n_heads": 4,
    "n_layers": 4,
}  # of attnlib.models.course.CONFIG
MODEL = (
    "tokenizer",
    "ops",
    "attention",
    "block",
    "gpt",
    "sampling",
    "marks",
    "measure",
    "unfold",
    "ops_backward",
    "attention_backward",
    "block_backward",
    "gpt_backward",
    "unfold_backward",
)  # bottom-up
PICTURE = (
    "elements",
    "address",
    "load",
    "tokens",
    "bars",
    "heads",
    "parts",
    "file",
    "rates",
    "unfold",
    "moved",
    "broken",
    "picture",
)
EXPORT = re.compile(r"^export ", re.M)
EXPORTED = re.compile(r"^export const (\w+)", re.M)
# What is one piece in a script: a comment, or (in the group) a text, a template with texts in it, or a pattern.
PIECE = re.compile(
    r"""/\*[\s\S]*?\*/| // .*$"""
    r"""|("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`(?:\\.|\$\{(?:[^`}]|`[^`]*`)*\}|[^`\\])*`"""
    r"""|(?:(?<=[(,])|(?<=[=>&|?:] ))/(?! )(?:\\.|\[(?:\\.|[^\]])*\]|[^/\\\n\[])+/\w*)""",
    re.M,
)
SHORTER = [
    (re.compile(r"\s*\n\s*"), "\n"),
    (re.compile(r"(?<![-+]) ?([-+=*/<>?:,;{}()\[\]&|!]+) ?(?![-+])"), r"\1"),
    (re.compile(r"(?<=[,;{(\[\n])\n|\n(?=[)}\]?:.\n])"), ""),
    (re.compile(r"(?<=[(,=])\((\w+)\)(?==>)"), r"\1"),
    (re.compile(r";(?=\})"), ""),  # no loop here has an empty body
    (re.compile(r"\bconst\b"), "let"),
]
TWO_LETS = re.compile(r"(?<![(\w.])(let [^;{}]*);let ")


def model_source() -> str:
    """The model as one ES module: its files one after another."""
    return "\n".join((HERE / "model" / f"{name}.js").read_text("utf8") for name in MODEL)


def page_script() -> str:
    """What the page loads: the model as a function, which is also what the worker runs, and the picture."""
    names = ", ".join(EXPORTED.findall(model_source()))
    worker = (HERE / "model" / "worker.js").read_text("utf8")
    picture = "\n".join((HERE / "picture" / f"{name}.js").read_text("utf8") for name in PICTURE)
    style = json.dumps(without_space((HERE / "picture" / "inside.css").read_text("utf8")), ensure_ascii=False)
    return (
        renamed(
            squeezed(
                f"""const insideModel = (asWorker) => {{
        "use strict";
        {EXPORT.sub("", model_source())}
        if (asWorker) {{
        {worker}
        }}
        return {{ {names} }};
        }};
        window.insideGPT = {{ model: insideModel(false) }};
        (() => {{
        "use strict";
        {picture}
        }})();"""
            )
        )
        + f"document.head.append(Object.assign(document.createElement('style'), {{ textContent: {style} }}));\n"
    )


def without_space(style: str) -> str:
    """A style sheet without the white space that means nothing.

    >>> without_space(".a :is(b, i) { width: calc(1em - 2px); }\\n.c { top: 0; }\\n")
    '.a :is(b,i){width:calc(1em - 2px)}.c{top:0}'
    """
    return re.sub(r"\s*([{},;])\s*|(?<=:)\s+", r"\1", style).replace(";}", "}").strip()


def squeezed(script: str) -> str:
    """A script without its comments, indentation and spaces, which every reader would load; the sources have them.

    Texts and patterns stay as they are; `const` becomes the shorter `let`.

    >>> squeezed("/* One. */\\n  const a = 1 - -x; // two\\n\\n  const b = ' = ' + a.match(/b c/);\\n")
    "let a=1- -x,b=' = '+a.match(/b c/);"
    """
    script, made, at = PIECE.sub(lambda piece: piece[1] or "", script).strip(), "", 0
    for text in PIECE.finditer(script):
        made += _without_spaces(script[at : text.start()]) + text[0]
        at = text.end()
    made += _without_spaces(script[at:])
    while TWO_LETS.search(made):
        made = TWO_LETS.sub(r"\1,", made)
    return made


def renamed(script: str) -> str:
    """A squeezed script with short names for its own functions and constants.

    A name stays where it is also a key, an attribute, or stands in a text: only what is surely a variable is renamed.

    >>> renamed("let total=1,kept=2,a={kept};total+a.kept")
    'let $0=1,kept=2,a={kept};$0+a.kept'
    """
    texts = [piece.span() for piece in PIECE.finditer(script)]
    inside = " ".join(script[begin:end] for begin, end in texts)
    ends = [0, *(end for _, end in texts)]
    code = [
        script[end:begin]
        for end, begin in zip(ends, [*(begin for begin, _ in texts), len(script)], strict=True)
    ]
    outside = " ".join(code)
    free = (f"${first}{second}" for first in ["", *LETTERS] for second in LETTERS)
    short: dict[str, str] = {}
    for name in dict.fromkeys(re.findall(r"(?:let |,)(\w{4,})=", outside)):
        other = rf"\.{name}\b|\b{name}:|[{{,]{name}[,}}]"
        if not re.search(rf"\b{name}\b", inside) and not re.search(other, outside):
            short[name] = next(free)
    if not short:
        return script
    any_name = re.compile(rf"(?<![\w$])({'|'.join(short)})(?![\w$])")
    made = [any_name.sub(lambda found: short[found[1]], part) for part in code]
    return "".join(part + script[slice(*text)] for part, text in zip(made, [*texts, (0, 0)], strict=True))


def _without_spaces(code: str) -> str:
    for pattern, instead in SHORTER:
        code = pattern.sub(instead, code)
    return code


def packed() -> tuple[list[dict[str, Any]], bytes]:
    """Where each array stands, and all their bytes: vectors and scales as float32 first, integers after them."""
    tensors, floats, integers = [], bytearray(), bytearray()
    stored = quantised(read_safetensors(COURSE / "model.safetensors"))
    for name, array in stored.items():
        vector = array.scales if isinstance(array, Rows) else array
        place = {"name": name, "shape": list(vector.shape)}
        if isinstance(array, Rows):
            place |= {"shape": list(array.integers.shape), "scales": len(floats), "at": len(integers)}
            integers += array.integers.tobytes()
        else:
            place["at"] = len(floats)
        floats += vector.astype("<f4").tobytes()
        tensors.append(place)
    for place in tensors:
        if "scales" in place:
            place["at"] += len(floats)
    return tensors, bytes(floats + integers)


def tokenizer_data() -> dict[str, Any]:
    """The merges as pairs of numbers, the end token, and the classes of characters."""
    tokenizer = load_tokenizer(COURSE)
    number = tokenizer.numbers
    merges = [[number[spelled(left)], number[spelled(right)]] for left, right in tokenizer.merges]
    characters = {name: written(ranges_of(pattern)) for name, pattern in CLASSES.items()}
    return {"merges": merges, "end": tokenizer.special[0], "characters": characters}


def held_out_data() -> list[dict[str, Any]]:
    """Each held-out row with its tokens, and for each question the positions that are measured."""
    data = held_out()
    return [
        {"tokens": tokens}
        | {"at": [[t for row, t in positions if row == r] for positions in data.positions.values()]}
        for r, tokens in enumerate(data.rows)
    ]


@cache
def model_file() -> str:
    """The text of the file with the model."""
    tensors, numbers = packed()
    data = {
        "config": SIZES,
        "tokenizer": tokenizer_data(),
        "means": load_result("course_means")["means"],
        "heldOut": held_out_data(),
        "breaks": {name: one._asdict() for name, one in BREAKS.items()},
        "kinds": {name: kind._asdict() for name, kind in KINDS.items()},
        "tensors": tensors,
        "numbers": base64.b64encode(numbers).decode(),
    }
    return f"courseModel({json.dumps(data, separators=(',', ':'))})\n"
