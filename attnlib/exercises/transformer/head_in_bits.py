"""What a head is worth, in bits

predict · ★★ · 6 min · 04-transformer/15-inside-a-gpt

In the picture of the page *Inside a GPT*, choose the example *an open bracket*, set the temperature to 1, and replace
head 2.1 by its mean (*Take a part out*). The bars show the probability of the closing bracket without the head and with
the whole model. By how many bits does its surprise rise?

1. The surprise is $-\\log_2 p$. You know $p$ with and without the head.
2. The difference of two logarithms is the logarithm of a ratio.
3. Divide the whole model's probability by the other one, and take the logarithm to base 2 of the ratio.

A probability that falls by half costs one bit, wherever it starts. That is why the page counts harm in bits: the
difference of two probabilities depends on how large they were.
"""

import math

from attnlib.data.results import load_result
from attnlib.exercises.engine.model import Mistake

P = load_result("inside_questions")["head-in-bits"]["probability"]


def bits(with_head, without):
    return math.log2(with_head / without)


def answer():
    return bits(P["whole"]["T=1"], P["2.1 mean"]["T=1"])


WITHIN = 0.05
MISTAKES = (
    Mistake("at temperature 0.8", "These bars are those of the temperature 0.8, with which the picture begins. Set it "
        "to 1: then the bars are what the model predicts.", bits(P["whole"]["T=0.8"], P["2.1 mean"]["T=0.8"])),
    Mistake("zeros", "The head is replaced by zeros. Choose its mean.",
        bits(P["whole"]["T=1"], P["2.1 zeros"]["T=1"])),
    Mistake("another head", "That is what head 1.3 costs, which nearly every token needs. Replace head 2.1.",
        bits(P["whole"]["T=1"], P["1.3 mean"]["T=1"])),
    Mistake("the difference", "That is the difference of the probabilities. Surprise is a logarithm.",
        P["whole"]["T=1"] - P["2.1 mean"]["T=1"]),
    Mistake("the ratio", "So many times likelier is the bracket with the head. How many bits is that?",
        P["whole"]["T=1"] / P["2.1 mean"]["T=1"]),
    Mistake("the sign", "Without the head the bracket is less likely, so its surprise rises.",
        -bits(P["whole"]["T=1"], P["2.1 mean"]["T=1"])),
)  # fmt: skip
