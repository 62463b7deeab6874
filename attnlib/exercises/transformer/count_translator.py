"""Count a translator

write · ★★ · 10 min · 04-transformer/9-what-it-costs

Count the numbers in the matrices of an encoder-decoder, biases and norms left out: n_encoder blocks of
self-attention and a feed-forward network, n_decoder blocks that have a second attention between the two, which
looks at the source, one table of vocab vectors that source, target and scores share, and positions by sines.
Attention has four matrices of d by d, the network two, d by d_hidden and back. Return the count.

1. How many numbers has one attention? How many has one feed-forward network?
2. A block of the decoder has two attentions and one network.
3. One table serves three purposes and is counted once. Sines are computed, not learned.

With d 512, d_hidden 2,048, six blocks each and 37,000 tokens this is the base model of 2017: 63 million; its paper
gives 65.
"""

from attnlib.exercises.engine.model import Mistake


def count_translator(n_encoder, n_decoder, d, d_hidden, vocab):
    """Numbers in the matrices of an encoder-decoder with one shared table."""
    attention = 4 * d * d
    network = 2 * d * d_hidden
    return n_encoder * (attention + network) + n_decoder * (2 * attention + network) + vocab * d


def part_by_part(n_encoder, n_decoder, d, d_hidden, vocab):
    shapes = [(vocab, d)]
    for layer in range(n_encoder + n_decoder):
        shapes += [(d, d)] * (4 if layer < n_encoder else 8) + [(d, d_hidden), (d_hidden, d)]
    return sum(rows * columns for rows, columns in shapes)


def cases(rng):
    return {
        "one block each": (1, 1, 2, 3, 5),
        "the base model of 2017": (6, 6, 512, 2048, 37000),
        "more blocks in the encoder": (5, 2, 3, 7, 11),
        "more blocks in the decoder": (2, 5, 4, 6, 13),
        "no encoder": (0, 3, 4, 5, 7),
    }


VARIANTS = (
    part_by_part,
    {"return n_encoder * (attention + network) + n_decoder * (2 * attention + network) + vocab * d":
         "return d * (4 * d * (n_encoder + 2 * n_decoder) + 2 * d_hidden * (n_encoder + n_decoder) + vocab)"},
)  # fmt: skip
MISTAKES = (
    Mistake("the networks are forgotten", "Each block has a feed-forward network of two matrices.",
        {"network = 2 * d * d_hidden": "network = 0"}),
    Mistake("the second attention is forgotten", "A block of the decoder also looks at the source: it has two "
        "attentions.", {"(2 * attention + network)": "(attention + network)"}),
    Mistake("a second attention in the encoder", "The second attention is in the decoder alone.",
        {"n_encoder * (attention": "n_encoder * (2 * attention"}),
    Mistake("the output projections are forgotten", "An attention has four matrices: the fourth mixes the heads.",
        {"4 * d * d": "3 * d * d"}),
    Mistake("only one matrix of the network", "A feed-forward network has two matrices, d by d_hidden and d_hidden by "
        "d.",
        {"network = 2 * d * d_hidden": "network = d * d_hidden"}),
    Mistake("the table is forgotten", "The shared table has vocab times d numbers.", {"+ vocab * d": ""}),
    Mistake("the table is counted twice", "One table serves as embedding and as scores: it is counted once.",
        {"vocab * d": "2 * vocab * d"}),
    Mistake("the table is counted three times", "Source, target and scores share one table: it is counted once.",
        {"vocab * d": "3 * vocab * d"}),
    Mistake("the network is four times as wide as d", "The inner width is given: it need not be 4 d.",
        {"network = 2 * d * d_hidden": "network = 8 * d * d"}),
)  # fmt: skip
