"""How many weights has a translation?

predict · ★ · 3 min · 02-self-attention/1-a-sequence-attends-to-itself · after self-attention.cross

A sentence of 6 words is read; 5 words of its translation are written. How many weights are there in the
encoder's self-attention, the decoder's self-attention (nothing is masked) and the cross-attention together?

1. Each query has one weight for each key. Who asks, and who is read, in each of the three?
2. Draw three tables: source by source, target by target, target by source.
3. Add two squares and one product.

36 + 25 + 30: self-attention is a square table, cross-attention a rectangle with a row for each target word.
"""

LENGTHS = (6, 5)


def answer():
    return LENGTHS[0] ** 2 + LENGTHS[1] ** 2 + LENGTHS[0] * LENGTHS[1]


WITHIN = 0.0
MISTAKES = """
the cross-attention is missing | The decoder also reads the source, once for each pair of a target and a
  source word.
    = LENGTHS[0] ** 2 + LENGTHS[1] ** 2
all words in one table | That is one self-attention over both sentences joined, or a source that also reads
  the target. Here the source never asks the target.
    = sum(LENGTHS) ** 2
the decoder's self-attention is missing | The words of the translation look at each other too.
    = LENGTHS[0] ** 2 + LENGTHS[0] * LENGTHS[1]
the encoder's self-attention is missing | The words of the source look at each other too.
    = LENGTHS[1] ** 2 + LENGTHS[0] * LENGTHS[1]
one weight per word | A weight belongs to a pair of words.
    = sum(LENGTHS)
the cross-attention alone | Each side also attends to itself.
    = LENGTHS[0] * LENGTHS[1]
"""
