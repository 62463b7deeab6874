"""What a latent saves

predict · ★★ · 5 min · 04-transformer/5-the-block-of-today

DeepSeek-V3 keeps of each token, in each of its 61 layers, a latent of 512 numbers and one rotated key of 64 numbers for
all heads. Without a latent each of its 128 heads would keep a key of 128 + 64 numbers and a value of 128 numbers. How
many times as many bytes would that be?

1. How many numbers would one head keep in one layer?
2. Both programs have the same layers, and their numbers the same size.
3. Multiply for all heads, and divide by what the latent layer keeps.

Both layers and bytes cancel. The factor of 71 is the largest part of what makes texts of 100,000 tokens affordable for
a model with so many heads; with 8 grouped heads it would be a factor of 4.4.
"""

from attnlib.exercises.engine.model import Mistake

LAYERS, HEADS, KEY, ROTATED, VALUE, LATENT = 61, 128, 128, 64, 128, 512


def answer():
    return HEADS * (KEY + ROTATED + VALUE) / (LATENT + ROTATED)


WITHIN = 0.2
MISTAKES = (
    Mistake("the rotated key for each head", "The latent layer keeps one rotated key for all heads, not one for each.",
        HEADS * (KEY + ROTATED + VALUE) / (LATENT + HEADS * ROTATED)),
    Mistake("the rotated key is not kept", "The rotated key cannot be made from the latent, so it is kept, too.",
        HEADS * (KEY + ROTATED + VALUE) / LATENT),
    Mistake("keys alone", "A head keeps a key *and* a value.", HEADS * (KEY + ROTATED) / (LATENT + ROTATED)),
    Mistake("heads without a rotated part", "The key of a head has 128 + 64 numbers.",
        HEADS * (KEY + VALUE) / (LATENT + ROTATED)),
    Mistake("one head only", "There are 128 heads, and each would keep its own.",
        (KEY + ROTATED + VALUE) / (LATENT + ROTATED)),
    Mistake("layers on one side", "Both keep something in every layer, so the number of layers cancels.",
        LAYERS * HEADS * (KEY + ROTATED + VALUE) / (LATENT + ROTATED)),
    Mistake("upside down", "This is the share that the latent keeps. The question is how many times more the heads "
        "would keep.", (LATENT + ROTATED) / (HEADS * (KEY + ROTATED + VALUE))),
)  # fmt: skip
