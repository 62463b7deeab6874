"""A cache with windows

write · ★ · 8 min · 03-multi-head/3-memory

A model reads its token number n. Layers `period`, 2 `period`, ... attend to all n tokens, the other layers only to
the last `window` tokens, token n included. There are n_kv_heads KV heads of d_head numbers, `bytes_each` bytes a
number. The cache holds the keys and values of the tokens that token n attends to, its own included, and nothing else.
`layers` is a multiple of `period`. Return the bytes of the cache.

1. How many tokens does a layer with a window have to keep? And if the text is still shorter than the window?
2. How many layers of each kind are there?
3. Add the tokens that all layers keep; then two, heads, numbers, bytes, as for any cache.

Beyond the window most layers stop growing, and what is left grows with one layer in `period`. It is another lever on
the memory than sharing, and the two multiply. It is not free: it changes what the layers can read.
"""

from attnlib.exercises.engine.model import Mistake


def window_cache(layers, period, window, n_kv_heads, d_head, n, bytes_each):
    """The bytes of the keys and values that a decoder keeps of n tokens if most of its layers have a window."""
    whole = layers // period
    kept = whole * n + (layers - whole) * min(n, window)
    return 2 * kept * n_kv_heads * d_head * bytes_each


def by_layer(layers, period, window, n_kv_heads, d_head, n, bytes_each):
    total = 0
    for layer in range(1, layers + 1):
        tokens = n if layer % period == 0 else min(n, window)
        total += 2 * n_kv_heads * d_head * tokens * bytes_each
    return total


def cases(rng):
    return {
        "every second layer sees all": (4, 2, 3, 2, 5, 10, 4),
        "one of six, a long text": (24, 6, 1024, 8, 128, 20_000, 2),
        "a text shorter than the window": (4, 2, 30, 2, 5, 10, 4),
        "the first tokens of a long text": (24, 6, 1024, 8, 128, 100, 2),
        "one token": (6, 2, 8, 3, 7, 1, 4),
        "a text as long as the window": (6, 3, 7, 1, 4, 7, 4),
        "all layers see all": (3, 1, 2, 2, 5, 9, 2),
    }


VARIANTS = (by_layer, {"min(n, window)": "(n if n < window else window)"})
MISTAKES = (
    Mistake("the window is always full", "A text shorter than the window leaves fewer tokens than the window has room "
        "for.", {"min(n, window)": "window"}),
    Mistake("no layer sees all", "Some layers keep everything.",
        {"kept = whole * n + (layers - whole) * min(n, window)": "kept = layers * min(n, window)"}),
    Mistake("all layers see all", "Only one layer in `period` keeps everything; the others forget what is older "
        "than the window.", {"kept = whole * n + (layers - whole) * min(n, window)": "kept = layers * n"}),
    Mistake("the two kinds exchanged", "Layers `period`, 2 `period`, ... attend to all tokens, and the others have the "
        "window. Here it is the other way round.",
        {"whole * n + (layers - whole) * min(n, window)": "whole * min(n, window) + (layers - whole) * n"}),
    Mistake("one layer sees all", "One layer in each `period` sees all, not one in the whole model.",
        {"whole = layers // period": "whole = 1"}),
    Mistake("the number of windows", "One layer in `period` sees all: there are layers / period of them.",
        {"whole = layers // period": "whole = period"}),
    Mistake("all layers have a window too", "The layers that see all have no window to keep beside.",
        {"(layers - whole) * min": "layers * min"}),
    Mistake("keys alone", "The values are kept as well.", {"2 * kept": "kept"}),
    Mistake("queries are kept too", "A query is used once, when its token is new. Keys and values are read again.",
        {"2 * kept": "3 * kept"}),
    Mistake("numbers, not bytes", "This counts the numbers.", {"* bytes_each": ""}),
    Mistake("one head only", "Every head with keys and values keeps its own.", {"* n_kv_heads": ""}),
)  # fmt: skip
