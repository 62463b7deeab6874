"""What each head and each feed-forward network of the course's model gives on average (book: Inside a GPT).

To take a part out, the page puts this mean in its place: the model then gets nothing that depends on the text, but also
nothing that it has never met, as zeros would be. The mean is over 32 rows of the training text, spread over all of it,
with the 8-bit parameters of the page.
"""

import time

import torch

from attnlib.data import stdlib
from attnlib.data.results import save_result
from attnlib.models.course import CONFIG, END, course_model, course_tokenizer
from attnlib.models.gpt import GPT
from attnlib.shapes import Int

ROWS = 32


def training_rows() -> Int[torch.Tensor, "rows n"]:
    """Rows of `context` tokens, each from the start of a file, spread evenly over the files."""
    by = course_tokenizer()
    files = [text for _, text in stdlib.texts("train") if len(text) > 4 * CONFIG.context]
    chosen = files[:: len(files) // ROWS][:ROWS]
    rows = [(by.encode(END) + by.encode_ordinary(text[:4000]))[: CONFIG.context] for text in chosen]
    return torch.tensor(rows)


def measured_means(model: GPT, rows: Int[torch.Tensor, "rows n"]) -> list[dict[str, list]]:
    """For each block the mean output of each head, and that of the network."""
    seen: dict[str, torch.Tensor] = {}
    for l, block in enumerate(model.blocks):
        block.attention.heads.register_forward_hook(lambda _, __, Z, l=l: seen.update({f"heads {l}": Z}))
        block.feed_forward.register_forward_hook(lambda _, __, Y, l=l: seen.update({f"network {l}": Y}))
    with torch.no_grad():
        model(rows)

    def rounded(X: torch.Tensor) -> list:
        return [rounded(x) for x in X] if X.dim() > 1 else [round(x, 5) for x in X.tolist()]

    return [
        {
            "heads": rounded(seen[f"heads {l}"].mean((0, 2))),
            "network": rounded(seen[f"network {l}"].mean((0, 1))),
        }
        for l in range(CONFIG.n_layers)
    ]


if __name__ == "__main__":
    began = time.perf_counter()
    means = measured_means(course_model(bits=8), training_rows())
    data = {"rows": ROWS, "tokens a row": CONFIG.context, "means": means}
    seconds = time.perf_counter() - began
    print(
        save_result(
            "course_means", data, seeds=[], command="python experiments/course_means.py", seconds=seconds
        )
    )
