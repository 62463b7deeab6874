"""A count that was not stored

predict · ★★ · 6 min · 05-training/2-steps

A training with Adam, beta_1 = 0.9 and beta_2 = 0.95, has run for a very long time, and one parameter has always had
the gradient 1. It is stopped and resumed. The checkpoint held m and v, but not the count of steps t, so t begins at 1
again. How long is the first step after the resumption, in units of the learning rate? Give it to two decimals.

1. What are m and v after a very long time, and what are they after one more gradient of 1?
2. With t = 1 the corrections divide m by 1 - beta_1 and v by 1 - beta_2.
3. It is 10 divided by the root of 20.

The bias correction is applied to means that need none. With beta_2 = 0.999 the step would be too short instead, 0.32.
A checkpoint that forgets m and v as well does better: it starts afresh.
"""

from attnlib.exercises.engine.model import Mistake

BETA_1, BETA_2 = 0.9, 0.95


def answer():
    m_hat, v_hat = 1 / (1 - BETA_1), 1 / (1 - BETA_2)
    return m_hat / v_hat**0.5


WITHIN = 0.01
MISTAKES = (
    Mistake("nothing happens", "Both means are right already, but with t = 1 each is divided by what a first gradient "
        "would be worth.", 1),
    Mistake("the mean alone", "v is divided, too, and its root is the divisor.", 1 / (1 - BETA_1)),
    Mistake("no root", "It is the root of v that divides.", (1 - BETA_2) / (1 - BETA_1)),
    Mistake("the ratio upside down", "The step is too long, not too short: both means are full, and the correction "
        "enlarges m more than the root of v.", (1 - BETA_1) / (1 - BETA_2) ** 0.5),
    Mistake("the usual beta_2", "That is for beta_2 = 0.999.", (1 - 0.999) ** 0.5 / (1 - BETA_1)),
    Mistake("the squares alone", "m is divided, too.", (1 - BETA_2) ** 0.5),
    Mistake("the betas exchanged", "beta_1 belongs to m, beta_2 to v.", (1 - BETA_1) ** 0.5 / (1 - BETA_2)),
    Mistake("divided by the betas", "The corrections divide by one minus the betas, not by the betas.",
        BETA_2**0.5 / BETA_1),
    Mistake("the second step", "With t = 2. The first one after the resumption has t = 1.",
        (1 - BETA_2**2) ** 0.5 / (1 - BETA_1**2)),
    Mistake("a direction", "The step goes against the gradient. Its length has no sign.",
        -((1 - BETA_2) ** 0.5) / (1 - BETA_1)),
    Mistake("in percent of the rate", "Give the length in units of the rate, not in percent.",
        100 * (1 - BETA_2) ** 0.5 / (1 - BETA_1)),
    Mistake("no step", "The gradient is 1, and both means keep it: the parameter changes.", 0),
)  # fmt: skip
