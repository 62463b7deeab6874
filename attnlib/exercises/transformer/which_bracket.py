"""Which bracket does the head find?

predict · ★ · 4 min · 04-transformer/15-inside-a-gpt

The text `print(max(a, b), c` has two opening brackets, at positions 2 and 4 (position 0 is the start). The one at 4 has
been closed, the one at 2 is still open. After the last token, at which position is the largest weight of head 2.1?
Predict it, then type the text into the picture of the page *Inside a GPT*, choose the last token, and open the weights
as a table.

1. Does the head read which brackets have been closed, or only where brackets are?
2. In the picture choose the last token, then 2.1 among the heads. The table lists the weights from the largest down.
3. The head prefers the nearer of the two opening brackets, although it has been closed.

At closing brackets the head has most of its weight on the bracket that is open, and in this text it has not. What
was counted over many positions is a rate, not a rule: the head recognises brackets, and it keeps no exact count of
those that are closed.
"""

import numpy as np

from attnlib.data.results import load_result
from attnlib.exercises.engine.model import Mistake

WEIGHTS = load_result("inside_questions")["which-bracket"]["weights"]


def answer():
    return int(np.argmax(WEIGHTS["2.1"]))


WITHIN = 0
MISTAKES = (
    Mistake("the open bracket", "There is the bracket that is open, and it is second. Look which weight is larger.",
        int(np.argsort(WEIGHTS["2.1"])[-2])),
    Mistake("the bracket that closes", "That token closes the inner bracket. Head 2.0, of the previous token, "
        "has its largest weight there.", int(np.argmax(WEIGHTS["2.0"]))),
    Mistake("the start", "That is where head 1.3 has its largest weight. Is 2.1 the one that is pressed?",
        int(np.argmax(WEIGHTS["1.3"]))),
    Mistake("counted without the start", "The start of the text has a position too: it is number 0.",
        int(np.argmax(WEIGHTS["2.1"])) - 1),
)  # fmt: skip
