"""One stack with as many parameters

predict · ★ · 4 min · 04-transformer/6-encoder-decoder-translation

The transformer of 2017 has 6 encoder blocks and 6 decoder blocks. All have the width d, and their feed-forward
networks have the hidden width 4 d. A GPT of the same width should have as many parameters in its blocks as the two
stacks together. How many blocks must it have? Leave out biases and norms.

1. A block of a GPT has self-attention and a feed-forward network. Which of the two kinds of block has the same parts?
   What does the other kind have in addition?
2. Count in units of d²: an attention layer has 4, a feed-forward network 8.
3. An encoder block has 12, a decoder block 16, a GPT block 12.

The same number of parameters is not the same amount of work. In the encoder-decoder model a token passes through only
one of the two stacks, so it meets about half of the parameters. In the GPT every token meets all of them.
"""

from attnlib.exercises.engine.model import Mistake

BLOCKS, ATTENTION, NETWORK = 6, 4, 8


def answer():
    encoder, decoder = ATTENTION + NETWORK, 2 * ATTENTION + NETWORK
    return BLOCKS * (encoder + decoder) // encoder


WITHIN = 0.01
MISTAKES = (
    Mistake("the blocks of both stacks", "That is the number of blocks of both stacks. A decoder block has one "
        "attention layer more than a GPT block.",
        2 * BLOCKS),
    Mistake("divided by a decoder block", "A GPT has no cross-attention: its blocks have one attention layer each, "
        "as encoder blocks have.",
        BLOCKS * (3 * ATTENTION + 2 * NETWORK) / (2 * ATTENTION + NETWORK)),
    Mistake("the decoder alone", "The encoder's parameters count, too.",
        BLOCKS * (2 * ATTENTION + NETWORK) / (ATTENTION + NETWORK)),
    Mistake("one matrix in cross-attention", "Cross-attention has four matrices, as every attention layer has: for "
        "queries, keys, values and output.",
        BLOCKS * (2 * ATTENTION + 2 * NETWORK + 1) / (ATTENTION + NETWORK)),
    Mistake("two matrices in cross-attention", "Cross-attention has four matrices: those for queries and output are "
        "its own, too.",
        BLOCKS * (2 * ATTENTION + 2 * NETWORK + 2) / (ATTENTION + NETWORK)),
    Mistake("cross-attention in all blocks", "That counts cross-attention in all twelve blocks. Only the six decoder "
        "blocks have it.",
        2 * BLOCKS * (2 * ATTENTION + NETWORK) / (ATTENTION + NETWORK)),
    Mistake("the parameters in units of d²", "That is the number of parameters, divided by d². A GPT block has 12 of "
        "these units.",
        BLOCKS * (3 * ATTENTION + 2 * NETWORK)),
    Mistake("the blocks of one stack", "That is the number of blocks of one of the two stacks.",
        BLOCKS),
    Mistake("one matrix in the network", "A feed-forward network of hidden width 4 d has two matrices of d times 4 d.",
        BLOCKS * (3 * ATTENTION + NETWORK) / (ATTENTION + NETWORK / 2)),
    Mistake("three matrices of attention", "Attention has four matrices: the output matrix after the heads counts, "
        "too.",
        BLOCKS * (3 * (ATTENTION - 1) + 2 * NETWORK) / (ATTENTION - 1 + NETWORK)),
)  # fmt: skip
