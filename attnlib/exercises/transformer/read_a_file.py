"""A model from its file alone

predict · ★★ · 8 min · 04-transformer/8-somebody-elses-weights

Of a model file with GPT-2's architecture and names you know two shapes, wte (50257, 1280) and wpe (1024, 1280), and
that the last layer is called h.35. How many parameters has the model? Count all of them: embeddings, matrices,
biases and norms.

1. How many layers are there, if they are counted from 0?
2. A layer has 12 d² numbers in its matrices; then come the biases of the four linear maps and the two norms.
3. Biases: 3 d, d, 4 d, d; norms: 2 d each, so 13 d a layer. A last norm has 2 d, and the unembedding
   has no matrix of its own.

774,030,080: this is GPT-2 large. The tables are a twelfth of it; in GPT-2 small they were nearly a third.
"""

from attnlib.exercises.engine.model import Mistake

V, N, D, L = 50257, 1024, 1280, 36


def answer():
    return V * D + N * D + L * (12 * D**2 + 13 * D) + 2 * D


WITHIN = 0.5
MISTAKES = (
    Mistake("the table twice", "The scores were given a table of their own. In GPT-2 they use that of the tokens.",
        2 * V * D + N * D + L * (12 * D**2 + 13 * D) + 2 * D),
    Mistake("the last norm is missing", "After the last layer comes one more norm, with a gain and a shift.",
        V * D + N * D + L * (12 * D**2 + 13 * D)),
    Mistake("a layer too few", "Layers are counted from 0, so the one called 35 is the thirty-sixth.",
        V * D + N * D + (L - 1) * (12 * D**2 + 13 * D) + 2 * D),
    Mistake("matrices alone", "Biases and norms are missing: 13 d a layer, and 2 d at the end.",
        V * D + N * D + L * 12 * D**2),
    Mistake("no norms", "The norms of the layers are missing, 4 d in each.",
        V * D + N * D + L * (12 * D**2 + 9 * D) + 2 * D),
    Mistake("no biases", "The biases of the maps are missing, 9 d in each layer.",
        V * D + N * D + L * (12 * D**2 + 4 * D) + 2 * D),
    Mistake("no table of positions", "The table of positions is missing.", V * D + L * (12 * D**2 + 13 * D) + 2 * D),
    Mistake("no tables", "The tables of tokens and positions are missing.", L * (12 * D**2 + 13 * D) + 2 * D),
    Mistake("attention alone", "A layer has two thirds of its maps in the feed-forward network.",
        V * D + N * D + L * (4 * D**2 + 8 * D) + 2 * D),
)  # fmt: skip
