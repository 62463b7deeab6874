"""Back through a scan

write · ★★ · 12 min · 06-efficient-attention/7-state-spaces

States h (n, d) follow h[t] = a[t] h[t - 1] + x[t], each column alone, from a state of zeros; a and x are (n, d). A loss
is computed from all states, as L(h[0], ..., h[n - 1]). G (n, d) holds its partial derivatives: G[t] is that with
respect to h[t], while the other states are held fixed. Return da and dx, the gradients of the loss with respect to a
and to x.

1. Through which states does x[t] act on the loss?
2. h[t] acts directly, and through h[t + 1]. By which factor does it enter h[t + 1]?
3. So the full gradient runs backwards: that of h[t] is G[t] plus a[t + 1] times that of h[t + 1]. And a[t] multiplies
   h[t - 1].

The backward pass is a scan of the same kind in the other direction. So it can be computed in parallel, too.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def scan_gradients(a, x, G):
    """Two arrays (n, d): the gradients with respect to a and to x, from G, those with respect to the states."""
    before, dx = np.zeros_like(x), G.copy()
    for t in range(1, len(x)):
        before[t] = a[t - 1] * before[t - 1] + x[t - 1]
    for t in range(len(x) - 2, -1, -1):
        dx[t] += a[t + 1] * dx[t + 1]
    return dx * before, dx


def products(a):
    """(n, n, d): by how much state s has shrunk at token t."""
    n = len(a)
    return np.array([[np.prod(a[s + 1 : t + 1], axis=0) * (s <= t) for s in range(n)] for t in range(n)])


def before(a, x):
    return np.concatenate([np.zeros_like(x[:1]), (products(a) * x).sum(axis=1)[:-1]])


def by_all_pairs(a, x, G):
    dx = (products(a) * G[:, None]).sum(axis=0)
    return dx * before(a, x), dx


def by_a_reversed_scan(a, x, G):
    later = np.concatenate([a[1:], np.ones_like(a[:1])])[::-1]
    dx = (products(later) * G[::-1]).sum(axis=1)[::-1]
    return dx * before(a, x), dx


def in_closed_form(a, x, G):
    with np.errstate(all="ignore"):
        P = np.cumprod(a, axis=0)
        h, dx = P * np.cumsum(x / P, axis=0), np.cumsum((G * P)[::-1], axis=0)[::-1] / P
        return dx * np.vstack([0 * x[:1], h[:-1]]), dx


def forwards(a, x, G):
    dx = (products(a) * G).sum(axis=1)
    return dx * before(a, x), dx


def with_its_own_decay(a, x, G):
    dx = (products(np.roll(a, 1, axis=0)) * G[:, None]).sum(axis=0)
    return dx * before(a, x), dx


def cases(rng):
    def one(n, d):
        x, G = drawn(rng, (n, d), (n, d))
        return rng.uniform(0.3, 0.95, size=(n, d)), x, G

    return {
        "three tokens": one(3, 2),
        "five tokens": one(5, 3),
        "all sizes equal": one(4, 4),
        "one token": one(1, 2),
        "a decay of zero": (np.where(np.arange(12).reshape(6, 2) == 4, 0, one(6, 2)[0]), *one(6, 2)[1:]),
        "sixty tokens": (np.exp(rng.uniform([-25, -1], 0, size=(60, 2))), *one(60, 2)[1:]),
    }


RETURNS = ("da", "dx")
VARIANTS = (by_all_pairs, by_a_reversed_scan)
MISTAKES = (
    Mistake("only the direct effect", "Each state also acts on the states after it: its gradient has to run backwards "
        "through them.", {"    dx[t] += a[t + 1] * dx[t + 1]": "    pass"}),
    Mistake("the decay of the wrong token", "h[t] enters h[t + 1] times a[t + 1], the decay of the *next* token.",
        with_its_own_decay),
    Mistake("the state after the token", "a[t] multiplies the state *before* token t.",
        {"return dx * before, dx": "return dx * (a * before + x), dx"}),
    Mistake("the input before, not the state", "a[t] multiplies the state before token t, and that holds more than the "
        "last input.", {"a[t - 1] * before[t - 1] + x[t - 1]": "x[t - 1]"}),
    Mistake("the decay once too often", "x[t] enters h[t] as it is, so the two have the same gradient.",
        {"return dx * before, dx": "return dx * before, a * dx"},
        {"return dx * before, dx": "return a * dx * before, a * dx"}),
    Mistake("no decay in the backward pass", "h[t] enters h[t + 1] times a[t + 1], so the gradient is multiplied by "
        "it, too.", {"a[t + 1] * dx[t + 1]": "dx[t + 1]"}),
    Mistake("the gradient runs forwards", "A state acts on the states *after* it, so its gradient comes from those.",
        forwards),
    Mistake("the last state before the first token", "Before the first token the state is zero. A roll puts the last "
        "one there.", {"dx * before, dx": "dx * np.roll(a * before + x, 1, axis=0), dx"}),
    Mistake("divided by a product of decays", "A decay may be zero, and products of many decays become zero.",
        in_closed_form),
)  # fmt: skip
