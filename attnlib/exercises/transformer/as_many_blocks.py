"""As many blocks with one stack

predict · ★ · 4 min · 04-transformer/6-encoder-decoder-translation

The transformer of 2017 has 6 blocks in its encoder and 6 in its decoder, of one width d, with 4 d inside the
feed-forward networks. How many blocks has a GPT of that width with as many parameters in its blocks? Leave out
biases and norms.

1. Which of the two kinds of block does a GPT have? What does the other kind have in addition?
2. Count in units of d²: attention has 4, a feed-forward network 8.
3. An encoder's block has 12, a decoder's 16; a GPT has blocks of 12.

As many parameters do not mean as much work: in the two stacks a word passes either the encoder or the decoder, so each
word meets about half of the parameters. In the one stack every word meets all of them.
"""

from attnlib.exercises.engine.model import Mistake

BLOCKS, ATTENTION, NETWORK = 6, 4, 8


def answer():
    encoder, decoder = ATTENTION + NETWORK, 2 * ATTENTION + NETWORK
    return BLOCKS * (encoder + decoder) / encoder


WITHIN = 0.01
MISTAKES = (
    Mistake("the blocks counted", "That is the number of blocks. Those of the decoder have one more attention.",
        2 * BLOCKS),
    Mistake("blocks of the larger kind", "A GPT reads no memory: its blocks have one attention, as the encoder's.",
        BLOCKS * (3 * ATTENTION + 2 * NETWORK) / (2 * ATTENTION + NETWORK)),
    Mistake("the decoder alone", "The encoder's parameters count, too.",
        BLOCKS * (2 * ATTENTION + NETWORK) / (ATTENTION + NETWORK)),
    Mistake("one more matrix", "Cross-attention has four matrices, as attention has: queries, keys, values and output.",
        BLOCKS * (2 * ATTENTION + 2 * NETWORK + 1) / (ATTENTION + NETWORK)),
    Mistake("two matrices for the memory", "Cross-attention has four matrices: those for queries and output are its "
        "own, too.", BLOCKS * (2 * ATTENTION + 2 * NETWORK + 2) / (ATTENTION + NETWORK)),
    Mistake("attention in both", "That is a third more than twelve. Only the decoder's six blocks read a memory.",
        2 * BLOCKS * (2 * ATTENTION + NETWORK) / (ATTENTION + NETWORK)),
    Mistake("in units of d²", "That is the number of parameters, divided by d². A block has 12 of these.",
        BLOCKS * (3 * ATTENTION + 2 * NETWORK)),
    Mistake("one stack", "That is one of the two stacks.", BLOCKS),
    Mistake("a smaller network", "A network that is 4 d wide has two maps of d times 4 d.",
        BLOCKS * (3 * ATTENTION + NETWORK) / (ATTENTION + NETWORK / 2)),
    Mistake("three matrices of attention", "Attention has four matrices: the one behind the heads counts, too.",
        BLOCKS * (3 * (ATTENTION - 1) + 2 * NETWORK) / (ATTENTION - 1 + NETWORK)),
)  # fmt: skip
