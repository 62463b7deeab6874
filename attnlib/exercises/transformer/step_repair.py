"""The time of one step of generation

repair · ★★ · 8 min · 04-transformer/9-what-it-costs

This is meant to be the time of one step of generation that is limited by memory alone: b texts, each with `read`
tokens in its cache of keys and values, get one more token each. The parameters and the caches are read once. Each
number takes two bytes, and `bandwidth` bytes are read per second. The result is far too large for a large b, and too
small for a long text. Repair both.

1. Which numbers do the b texts share, and which does each text have for itself?
2. The matrices are read once for all texts of the step.
3. In each layer a token has left a key and a value.

The first fault hides why batches are used: the parameters are read once, however many texts there are. The second
hides what limits their size: each text has a cache of its own.
"""

from attnlib.exercises.engine.model import Mistake


def step_seconds(n_parameters, n_layers, kv_width, b, read, bandwidth):
    """Seconds to bring the parameters and the caches of b texts to the arithmetic; kv_width numbers a key."""
    parameters = 2 * n_parameters
    cache = 2 * n_layers * 2 * kv_width * read
    return (parameters + b * cache) / bandwidth


def number_by_number(n_parameters, n_layers, kv_width, b, read, bandwidth):
    numbers = n_parameters
    for _ in range(b):
        numbers += n_layers * read * kv_width  # keys
        numbers += n_layers * read * kv_width  # values
    return numbers * 2 / bandwidth


def cases(rng):
    return {
        "one text": (1000, 2, 3, 1, 5, 10.0),
        "four texts": (1000, 2, 3, 4, 5, 10.0),
        "a long text": (1000, 2, 3, 1, 500, 10.0),
        "GPT-2 small, 16 texts": (124e6, 12, 768, 16, 1024, 2e12),
        "nothing read yet": (1000, 2, 3, 7, 0, 10.0),
    }


GIVEN = ("the parameters read once for each text", "keys alone, or one byte a number")
VARIANTS = (
    number_by_number,
    {"(parameters + b * cache) / bandwidth": "parameters / bandwidth + b * (cache / bandwidth)"},
)  # fmt: skip
MISTAKES = (
    Mistake("the parameters read once for each text",
        "The parameters were read once for each text. All texts of a step share them.",
        {"(parameters + b * cache)": "b * (parameters + cache)"}),
    Mistake("keys alone, or one byte a number", "The cache comes out half as large as it is. Of each token a key and a "
        "value are kept, and each number takes two bytes.",
        {"cache = 2 * n_layers * 2 * kv_width": "cache = 2 * n_layers * kv_width"}),
    Mistake("one cache for all", "Each text has a cache of its own.",
        {"(parameters + b * cache)": "(parameters + cache)"}),
    Mistake("one layer only", "Every layer has keys and values.", {"cache = 2 * n_layers * 2 *": "cache = 2 * 2 *"}),
    Mistake("bytes forgotten for the parameters", "Each parameter takes two bytes.",
        {"parameters = 2 * n_parameters": "parameters = n_parameters"}),
    Mistake("the ratio upside down", "Bytes divided by bytes a second are seconds.", {"/ bandwidth": "* bandwidth"}),
)  # fmt: skip
