"""The two files of the page *Inside a GPT*: its script, and the model, which is fetched only when a reader wants it.

The model's file is one call, `courseModel({...})`, so that it also loads from a disk, where pages may not fetch. In it
are the tokenizer, the sizes, and all numbers in base 64.
"""

import base64
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from attnlib.data.bpe.alphabet import spelled
from attnlib.data.bpe.files import load_tokenizer
from attnlib.data.results import load_result
from attnlib.js.eight_bits import Rows, quantised, read_safetensors
from attnlib.js.letters import CLASSES, ranges_of, written

HERE = Path(__file__).parent
COURSE = HERE.parent / "data" / "course"
SIZES = {
    "vocab": 2048,
    "context": 256,
    "d_model": 256,
    "n_heads": 4,
    "n_layers": 4,
}  # of attnlib.models.course.CONFIG
MODEL = ("tokenizer", "ops", "attention", "block", "gpt", "sampling", "marks")  # bottom-up
PICTURE = ("elements", "address", "load", "tokens", "bars", "heads", "parts", "file", "picture")
EXPORT = re.compile(r"^export ", re.M)
EXPORTED = re.compile(r"^export const (\w+)", re.M)
COMMENT = re.compile(r"^ */\*[\s\S]*?\*/ *$| // .*$", re.M)

SPACES = re.compile(r" ?([-=+*<>?:,;{}()\[\]&|!]+) ?")
QUOTED = re.compile(r"[\"'`/]|[-+] [-+]")


def model_source() -> str:
    """The model as one ES module: its files one after another."""
    return "\n".join((HERE / "model" / f"{name}.js").read_text("utf8") for name in MODEL)


def page_script() -> str:
    """What the page loads: the model as a function, which is also what the worker runs, and the picture."""
    names = ", ".join(EXPORTED.findall(model_source()))
    worker = (HERE / "model" / "worker.js").read_text("utf8")
    picture = "\n".join((HERE / "picture" / f"{name}.js").read_text("utf8") for name in PICTURE)
    style = json.dumps((HERE / "picture" / "inside.css").read_text("utf8"))
    return (
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
        + f"document.head.append(Object.assign(document.createElement('style'), {{ textContent: {style} }}));\n"
    )


def squeezed(script: str) -> str:
    """A script without its comments, indentation and spaces, which every reader would load; the sources have them.

    Spaces stay in lines with a text or a pattern in them.

    >>> squeezed("/* One. */\\n  let a = 1; // two\\n\\n  let b = ' = ';\\n")
    "let a=1;\\nlet b = ' = ';\\n"
    """
    lines = (line.strip() for line in COMMENT.sub("", script).splitlines())
    return "".join(
        f"{line if QUOTED.search(line) else SPACES.sub(_without, line)}\n" for line in lines if line
    )


def _without(found: re.Match[str]) -> str:
    return found[1]


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


@cache
def model_file() -> str:
    """The text of the file with the model."""
    tensors, numbers = packed()
    data = {
        "config": SIZES,
        "tokenizer": tokenizer_data(),
        "means": load_result("course_means")["means"],
        "tensors": tensors,
        "numbers": base64.b64encode(numbers).decode(),
    }
    return f"courseModel({json.dumps(data, separators=(',', ':'))})\n"
