"""What the course's model loses when its attention is cut to a window after training (book: Who attends to whom).

Rows of held-out text; only positions from half of the context on count, where every window is full. The arms: a window
alone; with the first one or four tokens beside it; with four other tokens instead, drawn anew for each row; a window
that is wider by four; and with the first four tokens, whose values are set to zero, so that they take weight and give
nothing. As a control for the harm of that, the same zeros under full attention.
"""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from attnlib.data import stdlib
from attnlib.data.results import save_result
from attnlib.interpret.capture import capture
from attnlib.models.course import CONFIG, course_model, course_tokenizer
from attnlib.models.gpt import GPT
from attnlib.nn.patterns import dense_mask
from attnlib.reference.patterns import first, window

ROWS, BATCH, SEED = 200, 20, 0
WIDTHS = (4, 8, 16, 32, 64, 128)
N, COUNTED, KEPT = CONFIG.context, CONFIG.context // 2, 4


def held_out_rows() -> Tensor:
    """(ROWS, N + 1) tokens, spread evenly over the held-out text."""
    by = course_tokenizer()
    text = np.concatenate([by.encode_ordinary(source) for _, source in stdlib.texts("held out")])
    begins = np.linspace(0, len(text) - N - 1, ROWS).astype(int)
    return torch.tensor(np.stack([text[at : at + N + 1] for at in begins]))


@contextmanager
def values_of_the_first_are_zero(model: GPT) -> Iterator[None]:
    """The first KEPT tokens still take weight, but what is returned for them is nothing."""

    def hook(module: torch.nn.Module, _: object, V: Tensor) -> Tensor:
        return torch.cat([torch.zeros_like(V[:, :KEPT]), V[:, KEPT:]], dim=1)

    hooks = [block.attention.W_V.register_forward_hook(hook) for block in model.blocks]
    try:
        yield
    finally:
        for one in hooks:
            one.remove()


@torch.inference_mode()
def bits_a_byte(model: GPT, rows: Tensor, mask: Tensor) -> float:
    """Bits per byte of the tokens after COUNTED positions; mask (N, N) or (ROWS, 1, N, N)."""
    by, nats = course_tokenizer(), 0.0
    for at in range(0, len(rows), BATCH):
        tokens = rows[at : at + BATCH]
        seen = mask if mask.dim() == 2 else mask[at : at + BATCH]
        X = model.places(model.embed(tokens[:, :-1]), 0)
        L = model.unembed(model.norm(model.blocks(X, mask=seen))).log_softmax(-1)
        nats -= L.gather(-1, tokens[:, 1:, None])[:, COUNTED:].sum().item()
    n_bytes = sum(len(by.decode(row[1 + COUNTED :].tolist()).encode()) for row in rows)
    return round(nats / math.log(2) / n_bytes, 4)


def with_others(near: Tensor, rng: np.random.Generator) -> Tensor:
    """A window, and for each row KEPT positions of its first half, but not the first ones."""
    others = np.stack([rng.choice(np.arange(KEPT, N // 2), KEPT, replace=False) for _ in range(ROWS)])
    chosen = torch.zeros(ROWS, 1, 1, N, dtype=torch.bool)
    chosen[torch.arange(ROWS)[:, None], 0, 0, torch.tensor(others)] = True
    return near | (chosen & torch.ones(N, N, dtype=torch.bool).tril())


def weight_on_the_first(model: GPT, rows: Tensor) -> list[list[float]]:
    """Of each head of each block: the mean weight on the first token, from the counted positions."""
    found = []
    with torch.inference_mode(), capture(model) as seen:
        model(rows[:BATCH, :-1])
    for l in range(CONFIG.n_layers):
        P = seen[f"blocks.{l}.attention.P"]
        found.append([round(p, 3) for p in P[:, :, COUNTED:, 0].mean(dim=(0, 2)).tolist()])
    return found


def main() -> None:
    began, rng = time.perf_counter(), np.random.default_rng(SEED)
    model, rows = course_model(), held_out_rows()
    whole = torch.ones(N, N, dtype=torch.bool).tril()
    full = {"full attention": bits_a_byte(model, rows, whole)}
    with values_of_the_first_are_zero(model):
        full["full, values zero"] = bits_a_byte(model, rows, whole)
    print(full)
    arms: dict[str, dict[int, float]] = {}
    for width in WIDTHS:
        near = dense_mask(window(width), N)
        kept = near | (dense_mask(first(KEPT), N) & whole)
        masks = {
            "window": near,
            "window and the first": near | (dense_mask(first(1), N) & whole),
            "window and the first four": kept,
            "window and four others": with_others(near, rng),
            "window, wider by four": dense_mask(window(width + KEPT), N),
        }
        for arm, mask in masks.items():
            arms.setdefault(arm, {})[width] = bits_a_byte(model, rows, mask)
        with values_of_the_first_are_zero(model):
            arms.setdefault("window and the first four, values zero", {})[width] = bits_a_byte(
                model, rows, kept
            )
        print(width, {arm: found[width] for arm, found in arms.items()}, flush=True)
    data = {
        "settings": {"rows": ROWS, "n": N, "counted from": COUNTED, "kept": KEPT},
        "bits_per_byte": {**full, **arms},
        "weight on the first token": weight_on_the_first(model, rows),
    }
    print(data["weight on the first token"])
    seconds = time.perf_counter() - began
    save_result("windows", data, seeds=[SEED], command="python experiments/windows.py", seconds=seconds)


if __name__ == "__main__":
    main()
