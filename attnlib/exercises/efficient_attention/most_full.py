"""As many full layers as fit

write · ★★ · 9 min · 06-efficient-attention/4-the-mix

A model has n_layers layers. Each is either full and keeps a_token bytes of each token, or keeps a state of `state`
bytes. After n tokens all layers together may keep `budget` bytes at most. Return the largest possible number of full
layers, and -1 if no mix fits. Texts may be so short that a state is larger than what a full layer keeps.

1. How many bytes does a model with f full layers keep?
2. Try every f from 0 to n_layers. Which of them fit?
3. Return the largest f that fits. With a short text that may be n_layers although f = 0 does not fit.

More full layers are not always more bytes: below state / a_token tokens each of them saves some.
"""

from attnlib.exercises.engine.model import Mistake


def most_full(n_layers, n, a_token, state, budget):
    """The largest number of full layers with which no more than `budget` bytes are kept after n tokens, or -1."""
    fits = [f for f in range(n_layers + 1) if f * a_token * n + (n_layers - f) * state <= budget]
    return max(fits, default=-1)


def from_the_top(n_layers, n, a_token, state, budget):
    f = n_layers
    while f >= 0 and f * a_token * n + (n_layers - f) * state > budget:
        f -= 1
    return f


def by_division(n_layers, n, a_token, state, budget):
    more = a_token * n - state
    if n_layers * a_token * n <= budget:
        return n_layers
    return (budget - n_layers * state) // more if more > 0 and budget >= n_layers * state else -1


def if_states_fit(L, n, a, state, budget):
    return most_full(L, n, a, state, budget) if L * state <= budget else -1


def never_cut(L, n, a, state, budget):
    return (budget - L * state) // (a * n - state) if L * state <= budget else -1


def cases(rng):
    L, a, state = (int(one) for one in rng.integers([8, 10, 2000], [16, 20, 4000]))
    long, short = 10 * state // a, state // (2 * a)
    return {
        "some fit": (L, long, a, state, L * state + 3 * (a * long - state) + 5),
        "exactly": (L, long, a, state, L * state + 2 * (a * long - state)),
        "states alone": (L, long, a, state, L * state),
        "nothing fits": (L, long, a, state, L * state - 1),
        "all fit": (L, long, a, state, L * a * long + 7),
        "a short text": (L, short, a, state, L * a * short + 1),
        "a short text, fewer layers": (L - 3, short, a, state, (L - 3) * a * short),
        "nothing fits a short text": (L, short, a, state, L * a * short - 1),
        "a small budget": (L - 1, long, a, state, state),
        "a large budget": (L, long, a, state, 2 * L * a * long),
    }


VARIANTS = (from_the_top, by_division)
MISTAKES = (
    Mistake("states are free", "The layers that are not full keep a state each.",
        lambda L, n, a, state, budget: min(L, budget // (a * n))),
    Mistake("a full layer has a state, too", "A full layer replaces a state: it does not keep one beside.",
        lambda L, n, a, state, budget: max((f for f in range(L + 1) if f * a * n + L * state <= budget), default=-1)),
    Mistake("less than the budget", "The budget itself may be reached.",
        lambda L, n, a, state, budget: from_the_top(L, n, a, state, budget - 1)),
    Mistake("-1 where states alone do not fit", "With a short text a full layer keeps less than a state: many full "
        "layers may fit where states alone do not.", if_states_fit),
    Mistake("divided by the difference, whatever its sign", "The quotient may be more than n_layers, and with a short "
        "text the difference is negative.", never_cut,
        lambda L, n, a, state, budget: max(-1, min(L, (budget - L * state) // (a * n - state)))),
    Mistake("a model of full layers alone is left out", "All n_layers layers may be full.",
        {"range(n_layers + 1)": "range(n_layers)"}),
    Mistake("0 where nothing fits", "0 is a mix, too, that of states alone. If no mix fits, the answer is -1.",
        {"default=-1": "default=0"}),
    Mistake("a state for each token", "A state has the same size after every token.", {"* state <": "* state * n <"}),
    Mistake("the bytes of one token", "A full layer keeps a_token bytes of each of the n tokens.",
        {"a_token * n": "a_token"}),
    Mistake("one more than fits", "With so many full layers the budget is exceeded.",
        lambda *all: most_full(*all) + (-1 < most_full(*all) < all[0])),
)  # fmt: skip
