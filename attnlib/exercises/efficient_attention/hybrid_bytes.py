"""What a pattern keeps

write · ★★ · 8 min · 06-efficient-attention/4-the-mix

A model of n_layers layers repeats a pattern, a tuple of the words "full", "window" and "state"; the last time it may be
cut short. A full layer keeps a_token bytes of each token, a window layer the same of the last w tokens only, a state
layer always `state` bytes. Return the bytes that all layers keep together after n tokens.

1. How many layers of each kind are there? For 5 layers, ("state", "full") gives three states and two full layers.
2. After the last word of the pattern the first one comes again: take the remainder of i.
3. A window keeps no more tokens than there have been: the smaller one of n and w.

The order of the layers changes nothing here, only how many there are of each kind.
"""

from attnlib.exercises.engine.model import Mistake


def bytes_kept(pattern, n_layers, n, a_token, w, state):
    """Bytes that all layers together keep after n tokens."""
    total = 0
    for i in range(n_layers):
        layer = pattern[i % len(pattern)]
        if layer == "state":
            total += state
        else:
            total += a_token * (min(n, w) if layer == "window" else n)
    return total


def by_counting(pattern, n_layers, n, a_token, w, state):
    layers = (pattern * n_layers)[:n_layers]
    rows = layers.count("full") * n + layers.count("window") * min(n, w)
    return rows * a_token + layers.count("state") * state


def by_a_table(pattern, n_layers, n, a_token, w, state):
    each = {"full": n * a_token, "window": min(n, w) * a_token, "state": state}
    return sum(each[pattern[i % len(pattern)]] for i in range(n_layers))


def cases(rng):
    n, a_token, w, state = (int(one) for one in rng.integers([100, 8, 10, 500], [200, 64, 50, 900]))
    return {
        "a pattern of four, twice": (("state", "state", "state", "full"), 8, n, a_token, w, state),
        "cut short": (("window", "window", "full"), 8, n, a_token, w, state),
        "shorter than the window": (("window", "full"), 4, w - 4, a_token, w, state),
        "a very short text": (("window", "state"), 5, 3, a_token, w, state),
        "all kinds": (("full", "window", "state"), 7, n, a_token, w, state),
        "full layers alone": (("full",), 3, n, a_token, w, state),
        "two layers of a pattern are left": (("state", "state", "full", "window"), 6, n, a_token, w, state),
        "before the first token": (("full", "state", "window", "full"), 6, 0, a_token, w, state),
        "fewer layers than the pattern": (("state", "window", "full"), 2, n, a_token, w, state),
    }


TIMES, WORD = "range(n_layers)", "pattern[i % len(pattern)]"
VARIANTS = (by_counting, by_a_table)
MISTAKES = (
    Mistake("the pattern counts once", "The pattern is repeated until there are n_layers layers.",
        {TIMES: "range(len(pattern))"}, {TIMES: "range(min(n_layers, len(pattern)))"}),
    Mistake("n_layers counts patterns", "n_layers is the number of layers, not of repetitions.",
        {TIMES: "range(n_layers * len(pattern))"}),
    Mistake("the pattern is never cut short", "There are n_layers layers, also where the pattern does not fit a whole "
        "number of times.", {TIMES: "range(-(-n_layers // len(pattern)) * len(pattern))"}),
    Mistake("the last layers are missing", "Where the pattern does not fit a whole number of times, its first words "
        "come once more.", {TIMES: "range(n_layers // len(pattern) * len(pattern))"}),
    Mistake("another part of the pattern at the end", "The model begins with the first word of the pattern, and where "
        "it is cut short its first words come last.",
        {WORD: "(pattern * (n_layers // len(pattern)) + pattern[-(n_layers % len(pattern)) :])[i]"},
        {WORD: "pattern[(i + 1) % len(pattern)]"}),
    Mistake("a part of the pattern on average", "The layers that are left at the end are of certain kinds.",
        lambda pattern, n_layers, *rest: by_a_table(pattern, len(pattern), *rest) * n_layers / len(pattern)),
    Mistake("the pattern is stretched", "The pattern is repeated as a whole, word by word.",
        {WORD: "pattern[i * len(pattern) // n_layers]"}),
    Mistake("a window is always full", "After n tokens a window holds n of them at most.", {"min(n, w)": "w"}),
    Mistake("a window keeps all tokens", "A window layer keeps the last w tokens only.", {"min(n, w)": "n"}),
    Mistake("what has left the window", "A window layer keeps the last w tokens, not those before them.",
        {"min(n, w)": "(n - w)"}, {"min(n, w)": "max(n - w, 0)"}),
    Mistake("a state for each token", "A state layer keeps `state` bytes, whatever n and a_token are.",
        {"total += state": "total += n * state"}, {"total += state": "total += a_token * state"}),
    Mistake("one state for all layers", "Each state layer keeps a state of its own.",
        {"total += state": "total += state * (layer not in pattern[:i])"},
        lambda pattern, n_layers, n, a_token, w, state: state + by_a_table(pattern, n_layers, n, a_token, w, 0)),
    Mistake("a state that grows", "A state layer keeps all of its bytes from the beginning on, also for short texts.",
        {"total += state": "total += min(state, n * a_token)"}),
)  # fmt: skip
