"""What decays

write · ★ · 6 min · 05-training/4-not-too-well

One step of plain gradient descent for a map W (d, h), its bias b (h,) and the gain (d,) of the norm before it, with
decoupled weight decay on the map alone, as is usual: biases and gains are not decayed. dW, db and dgain are the
gradients. The decay uses the parameters as they were before the step. Return the three new arrays.

1. Which of the three is meant to be pulled towards zero?
2. The pull is proportional to the number itself, and to the rate.
3. W loses rate times decay times itself, beside the step; b and gain make the step alone.

With plain gradient descent this is the same as a penalty on the squares. With Adam it is not, because Adam would divide
the penalty's gradient, too.
"""

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def decay_step(W, b, gain, dW, db, dgain, rate, decay):
    """W, b and gain after one step with decay."""
    kept = 1 - rate * decay
    W = kept * W - rate * dW
    b = b - rate * db
    gain = gain - rate * dgain
    return W, b, gain


def penalty(W, b, gain, dW, db, dgain, rate, decay):
    return W - rate * (dW + decay * W), b - rate * db, gain - rate * dgain


def in_turn(W, b, gain, dW, db, dgain, rate, decay):
    smaller = W - decay * (rate * W)
    return tuple(x - rate * dx for x, dx in ((smaller, dW), (b, db), (gain, dgain)))


def cases(rng):
    def parts(d, h, rate, decay):
        return (*drawn(rng, (d, h), h), 1 + 0.3 * rng.normal(size=d), *drawn(rng, (d, h), h, d), rate, decay)

    return {
        "a small map": parts(2, 3, 0.1, 0.5),
        "a large rate": parts(3, 4, 0.5, 0.3),
        "no decay": parts(3, 2, 0.2, 0.0),
        "all sizes equal": parts(3, 3, 0.3, 0.2),
    }


RETURNS = ("W", "b", "gain")
VARIANTS = (penalty, in_turn)
MISTAKES = (
    Mistake("the bias decays", "The bias decays. Here only the map does.", {"b = b -": "b = kept * b -"}),
    Mistake("the gain decays", "The gain decays. With a gain of zero the norm would output nothing.",
        {"gain = gain -": "gain = kept * gain -"}),
    Mistake("nothing decays", "No decay: this is the step alone.", {"kept * W": "W"}),
    Mistake("decay after the step", "The step itself was decayed, too. The decay uses the map as it was before the "
        "step.",
        {"W = kept * W - rate * dW": "W = kept * (W - rate * dW)"}),
    Mistake("it grows", "The map was made larger. Decay pulls towards zero.", {"kept = 1 - rate": "kept = 1 + rate"}),
    Mistake("twice the decay", "Half the square has the derivative W, so there is no factor of two.",
        {"kept = 1 - rate * decay": "kept = 1 - 2 * rate * decay"}),
    Mistake("up the hill", "The step goes against the gradient.",
        {"- rate * dW": "+ rate * dW", "- rate * db": "+ rate * db", "- rate * dgain": "+ rate * dgain"}),
    Mistake("a pull of fixed size", "The pull was as large for a small number as for a large one. Weight decay pulls "
        "in proportion.",
        {"kept * W - rate * dW": "W - rate * decay * (2 * (W > 0) - 1) - rate * dW"},
        {"kept * W - rate * dW": "W - rate * decay * np.sign(W) - rate * dW"}),
    Mistake("the gain is pulled to one", "The gain was pulled towards one. No decay touches it here.",
        {"gain = gain - rate * dgain": "gain = gain - rate * (dgain + decay * (gain - 1))"}),
    Mistake("the bias and the gain stand still", "The bias and the gain learn, too: only without decay.",
        {"b = b - rate * db": "b = 1 * b", "gain = gain - rate * dgain": "gain = 1 * gain"}),
    Mistake("the decay as the share that is left",
        "The map was multiplied by the decay. It should lose that share, times the "
        "rate, and keep the rest.",
        {"kept = 1 - rate * decay": "kept = decay"}, {"kept = 1 - rate * decay": "kept = rate * decay"}),
)  # fmt: skip
