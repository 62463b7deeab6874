"""From how many keys on does choosing pay?

predict · ★ · 5 min · 06-efficient-attention/5-chosen-keys

For one query a layer does 1,000 multiplications for each key that it attends to. An indexer does 100 for each key that
there is, and lets the layer attend to 450 of them. At how many keys does the layer with its indexer do exactly as many
multiplications as the layer alone?

1. How many does the layer alone do for n keys?
2. The indexer scores all n keys; the layer then computes 450.
3. Solve 1000 n = 100 n + 1000 times 450.

Below that length choosing costs more than it saves. Far above it, the saving approaches a factor of ten and no more:
the indexer still reads every key.
"""

from attnlib.exercises.engine.model import Mistake

ALONE, INDEXER, CHOSEN = 1000, 100, 450


def answer():
    return CHOSEN * ALONE / (ALONE - INDEXER)


WITHIN = 0.5
MISTAKES = (
    Mistake("the indexer costs nothing", "At 450 keys the layer attends to all of them, and the indexer comes on top.",
        CHOSEN),
    Mistake("the indexer against the chosen keys", "There the indexer does as much as the layer with the chosen keys. "
        "The question is where both together do as much as the layer alone.", CHOSEN * ALONE / INDEXER),
    Mistake("the indexer scores the chosen keys only", "It has to score all keys: only then is it known which are "
        "chosen.", CHOSEN * (ALONE + INDEXER) / ALONE),
    Mistake("upside down", "At n keys the layer alone does 900 n more than the indexer, and that is 1,000 for each "
        "chosen key.", CHOSEN * (ALONE - INDEXER) / ALONE),
    Mistake("keys and multiplications are added", "450 is a number of keys, 100 a number of multiplications for one "
        "key.", CHOSEN + INDEXER),
    Mistake("the chosen keys on top", "The chosen keys are among the keys that the indexer scores.",
        CHOSEN * ALONE / INDEXER + CHOSEN),
    Mistake("the indexer is cheaper than it is", "The layer alone does 1,000 for each key, the indexer 100: the "
        "difference is 900.", CHOSEN * ALONE / (ALONE + INDEXER)),
)  # fmt: skip
