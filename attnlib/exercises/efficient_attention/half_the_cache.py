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
    Mistake("both keep as much", "After so many tokens a state is as large as what a full layer keeps, and the two "
        "models keep the same.", STATE // A_TOKEN),
    Mistake("one state only", "Three of four layers have a state.", 2 * STATE // A_TOKEN, STATE // (2 * A_TOKEN)),
    Mistake("the full layer is left out", "The first model has a full layer, too: it keeps 4,096 bytes of each token.",
        (LAYERS - FULL) * STATE / (LAYERS // 2 * A_TOKEN)),
    Mistake("a quarter for a half", "Half of the bytes, not a quarter: that share, the one of full layers, is never "
        "reached.", (LAYERS - FULL) * STATE / (LAYERS * A_TOKEN)),
    Mistake("four states", "One of the four layers is full and has no state.", LAYERS * STATE // A_TOKEN),
)  # fmt: skip
