"""One training for all budgets

predict · ★ · 5 min · 05-training/7-compute-data-size

To save time, each size is trained once, for the largest budget, with a warmup and a learning rate that falls to
zero over the whole training. The losses at the smaller budgets are read off these trainings on the way, at the step at
which each budget is spent. A valley is drawn through the losses of each budget. What is wrong with the valleys of the
smaller budgets?

1. Which learning rate has a training when it has spent a tenth of its steps?
2. Is its loss then above or below that of a training which ends there?
3. A small model takes most steps for the same budget, a large one fewest. Which is at the earlier part of its schedule?

Each size passes a budget at the same share of its own schedule, because its text is in proportion to the budget. So all
losses are too high, and a law that is fitted to them takes the trainings for worse than they are. Kaplan and others
trained with one schedule for all; Hoffmann and others saw that its length has to be that of the training.
"""

from attnlib.exercises.engine.model import Mistake

CHOICES = (
    "their losses are too high: the rate is still large there",
    "their losses are too low: the text is still fresh there",
    "nothing: a loss on the way is that of a shorter training",
    "their sizes are wrong: the parameters grow on the way",
)


def answer():
    return CHOICES[0]


MISTAKES = (
    Mistake("fresh text", "Text that is read once is fresh in every training, and to the end.", CHOICES[1]),
    Mistake("nothing", "A shorter training would have lowered its rate by then, and most of the gain comes with that.",
        CHOICES[2]),
    Mistake("sizes", "A model has as many parameters at its first step as at its last.", CHOICES[3]),
)  # fmt: skip
