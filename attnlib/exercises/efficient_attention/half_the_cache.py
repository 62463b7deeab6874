"""When is it half?

predict · ★ · 5 min · 06-efficient-attention/4-the-mix

One of four layers of a model is full and keeps 4,096 bytes of each token. Each of the other three keeps a state of
1,048,576 bytes. Another model has full layers only, each with 4,096 bytes of each token, and equally many layers. After
how many tokens does the first model keep half as many bytes as the second?

1. Write down the bytes of four layers of each model after n tokens.
2. The first has 4,096 n + 3 * 1,048,576, the second 4 * 4,096 n. One is half of the other.
3. Subtract 4,096 n on both sides.

As the text grows the share falls towards a quarter, the share of full layers. Before that the states decide.
"""

from attnlib.exercises.engine.model import Mistake

STATE, A_TOKEN, LAYERS, FULL = 1_048_576, 4_096, 4, 1


def answer():
    return (LAYERS - FULL) * STATE // ((LAYERS // 2 - FULL) * A_TOKEN)


WITHIN = 0.5
MISTAKES = (
    Mistake("both keep as much; one state only", "After so many tokens the two models keep the same. (With one "
        "state in place of three it would be half.)", STATE // A_TOKEN),
    Mistake("the states are half of the layers that they replace", "The full layer is not halved, so the other three "
        "have to save more than half.", 2 * STATE // A_TOKEN),
    Mistake("half a state", "After so many tokens a full layer keeps half as much as a state. Count the bytes of all "
        "layers.", STATE // (2 * A_TOKEN)),
    Mistake("the full layer is left out", "The first model has a full layer, too: it keeps 4,096 bytes of each token.",
        (LAYERS - FULL) * STATE / (LAYERS // 2 * A_TOKEN)),
    Mistake("the states against the whole second model", "After so many tokens the three states keep as much as the "
        "whole second model, and the first has a full layer, too.", (LAYERS - FULL) * STATE / (LAYERS * A_TOKEN)),
    Mistake("the second model has three layers", "The two models have equally many layers.",
        (LAYERS - FULL) * STATE / (A_TOKEN / 2)),
    Mistake("twice for half", "The other way round: the first model keeps the fewer bytes.",
        (LAYERS - FULL) * STATE / (7 * A_TOKEN)),
    Mistake("bytes, not tokens", "So many bytes the three states keep. After how many tokens is it half?",
        (LAYERS - FULL) * STATE),
    Mistake("four states", "One of the four layers is full and has no state.", LAYERS * STATE // A_TOKEN),
)  # fmt: skip
