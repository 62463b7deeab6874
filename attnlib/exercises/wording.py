"""What the engine says, in the words of the command line: commands in place of functions and cells."""

import re

COMMAND = "attnlib exercises"
WORDS = (
    (re.compile(r'`hint\("([^"]+)"\)`'), rf"`{COMMAND} hint \1`"),
    (re.compile(r'`solution\("([^"]+)", confirm=True\)`'), rf"`{COMMAND} solution \1 --yes`"),
    (re.compile(r'`solution\("([^"]+)"\)`'), rf"`{COMMAND} solution \1`"),
    (re.compile(r"`progress_code\(\)`"), f"`{COMMAND} code`"),
    (re.compile(r"`load_progress\(\.\.\.\)` with this code"), f"`{COMMAND} load CODE` with this code"),
    (re.compile(r", run that cell, then this one"), " and check the file again"),
)


def as_commands(text: str) -> str:
    """
    >>> as_commands('Stuck? `hint("foundations.softmax")`')
    'Stuck? `attnlib exercises hint foundations.softmax`'
    """
    for pattern, words in WORDS:
        text = pattern.sub(words, text)
    return text
