"""What the course's model answers to the questions of the exercises that its picture answers (book: Inside a GPT).

The parameters are the 8-bit ones of the page. Stored are the numbers that a reader reads off: weights of a head, the
probability of a token with and without a head, the likeliest token after each block.
"""

import time
from typing import Any

import torch

from attnlib.data.results import load_result, save_result
from attnlib.interpret.patch import patched_head
from attnlib.models.course import END, course_model, course_tokenizer
from attnlib.models.gpt import GPT

TWO_BRACKETS = "print(max(a, b), c"
QUEUE = """class Queue:
    def __init__(self, items):
        self.items = list(items)

    def put(self, item):
        self.items.append(item"""
FILE = "def read(path):\n    with open(path) as file:\n        return file."


def measured(model: GPT) -> dict[str, Any]:
    """The answers, by the name of the exercise."""
    with torch.inference_mode():
        return {
            "which-bracket": weights_of(model, TWO_BRACKETS),
            "head-in-bits": without_a_head(model, QUEUE),
            "first-read": read_early(model, FILE),
        }


def read(text: str) -> torch.Tensor:
    by = course_tokenizer()
    return torch.tensor([by.encode(END) + by.encode_ordinary(text)])


def streams(model: GPT, tokens: torch.Tensor) -> list[torch.Tensor]:
    """The stream before the first block, and after each one."""
    X = [model.places(model.embed(tokens))]
    for block in model.blocks:
        X.append(block(X[-1]))
    return X


def weights_of(model: GPT, text: str) -> dict[str, Any]:
    """The tokens, and the weights of each head at the last one."""
    tokens, by = read(text), course_tokenizer()
    weights = {}
    for l, (block, X) in enumerate(zip(model.blocks, streams(model, tokens), strict=False)):
        P = block.attention.attention_weights(block.norm_1(X))[0, :, -1]
        weights |= {f"{l}.{h}": [round(p, 4) for p in row.tolist()] for h, row in enumerate(P)}
    return {"text": text, "tokens": [by.decode([t]) for t in tokens[0].tolist()], "weights": weights}


def without_a_head(model: GPT, text: str) -> dict[str, Any]:
    """The probability of the closing bracket at two temperatures: the whole model's, without head 2.1, without 1.3."""
    tokens, bracket = read(text), course_tokenizer().encode_ordinary(")")[0]
    means = load_result("course_means")["means"]

    def probabilities() -> dict[str, float]:
        S = model(tokens)[0, -1]
        return {f"T={T}": round((S / T).softmax(-1)[bracket].item(), 5) for T in (0.8, 1)}

    found = {"whole": probabilities()}
    for l, h in ((2, 1), (1, 3)):
        mean = torch.tensor(means[l]["heads"][h])
        for how, vector in {"mean": mean, "zeros": 0 * mean}.items():
            with patched_head(model.blocks[l].attention, h, vector[None, None]):
                found[f"{l}.{h} {how}"] = probabilities()
    return {"text": text, "probability": found}


def read_early(model: GPT, text: str) -> dict[str, Any]:
    """The likeliest token before the first block, and after each one."""
    early = [model.unembed(model.norm(X[0, -1])).argmax().item() for X in streams(model, read(text))]
    return {"text": text, "likeliest": [course_tokenizer().decode([token]) for token in early]}


if __name__ == "__main__":
    began = time.perf_counter()
    data = measured(course_model(bits=8))
    seconds = time.perf_counter() - began
    command = "python experiments/inside_questions.py"
    print(save_result("inside_questions", data, seeds=[], command=command, seconds=seconds))
