"""From which block on is it readable?

predict · ★ · 4 min · 04-transformer/15-inside-a-gpt

In the picture of the page *Inside a GPT*, choose the example *what a file can do*, which ends in `file.`, and read the
table of the logit lens. The whole model's likeliest next token is `read`. Where does the lens give `read` as the
likeliest token for the first time?

1. Which row of the table is the whole model?
2. Go up from the last row as long as `read` stands first in the row.
3. The last block does not change the likeliest token here: it only raises its probability.

In this text the answer is readable before the last block. Over the 100 known names of the page it seldom was: there
the last block decided. One text shows what can happen, a rate shows what usually does.
"""

from attnlib.data.results import load_result
from attnlib.exercises.engine.model import Mistake

LIKELIEST = load_result("inside_questions")["first-read"]["likeliest"]
CHOICES = ("before block 0", "after block 0", "after block 1", "after block 2", "after block 3")


def answer():
    return CHOICES[LIKELIEST.index(LIKELIEST[-1])]


MISTAKES = (
    Mistake("the current token", "There the lens returns the current token, because input and output share one table.",
        "before block 0"),
    Mistake("another method", "There another method of a file is the likeliest. Which token stands first in the row?",
        "after block 0"),
    Mistake("too early", "There the likeliest token is a space, and no name at all.", "after block 1"),
    Mistake("the whole model", "That row is the whole model. Is `read` the likeliest in a row above it, too?",
        "after block 3"),
)  # fmt: skip
