"""A chunk size for choosing

predict · ★★ · 6 min · 06-efficient-attention/8-hierarchies

A text of 262,144 tokens is cut into chunks of C tokens. The query after its last token first scores one summary for
each chunk. Then it attends to the tokens of 16 chosen chunks, C tokens each. Summaries and tokens together, it should
read as few keys as possible. Which C is best?

1. How many summaries are there, and how many tokens are read after the choice?
2. Their sum is n / C + 16 C. One part falls with C, the other rises.
3. The sum is least where both parts are equal.

With one chunk of its own the best size was the root of n. The more chunks are chosen, the shorter they should be.
"""

import math

from attnlib.exercises.engine.model import Mistake

N, CHOSEN = 262_144, 16


def answer():
    return math.sqrt(N / CHOSEN)


WITHIN = 0.01
MISTAKES = (
    Mistake("the root of the length", "That would be best for one chosen chunk. Here C is read 16 times.",
        math.sqrt(N)),
    Mistake("16 times the other way", "More chosen chunks ask for shorter ones. (So many chunks there are at the best "
        "size.)",
        math.sqrt(N * CHOSEN)),
    Mistake("without the root", "At this size there are 16 summaries only, and 262,144 tokens are read.", N / CHOSEN),
    Mistake("divided after the root", "The sum is least where n / C = 16 C: divide before the root is taken.",
        math.sqrt(N) / CHOSEN),
    Mistake("not 16 chunks", "16 chunks are read, C tokens each, whichever they are.",
        math.sqrt(N / 15), math.sqrt(N / 17)),
    Mistake("a factor 2", "At the best size the two parts are equal, and none is twice the other.",
        math.sqrt(N / CHOSEN / 2), math.sqrt(2 * N / CHOSEN)),
    Mistake("an end of the range", "There one of the two parts is as large as the text.", 1, N),
    Mistake("how many keys are read", "That is the number of keys at the best size. Which size is it?",
        N / math.sqrt(N / CHOSEN) + CHOSEN * math.sqrt(N / CHOSEN)),
)  # fmt: skip
