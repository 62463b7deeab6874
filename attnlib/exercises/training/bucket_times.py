"""When is a bucket sent?

write · ★★ · 10 min · 05-training/8-many-workers

sizes (k,) are the sizes of a model's parameters in their order. Their gradients are collected in buckets, which are
filled from the last parameter to the first. A new bucket begins where the next parameter would bring the current one
above `most`. The gradients become ready in the order `arrival` (k,), which holds indices into sizes. A bucket is sent
as soon as all its own gradients are ready. Return, for each bucket in the order of filling, how many gradients of the
whole model are ready by then.

1. Write the buckets down first: lists of indices, beginning with the last one.
2. A bucket is sent when the one of its gradients that comes last is there.
3. The position of each parameter in `arrival`, counted from one; then the largest of each bucket.

One gradient that comes late holds up its whole bucket, and in most libraries the buckets after it, because all workers
have to send them in the same order. So PyTorch looks at the order of the first backward pass and fills them anew.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def bucket_times(sizes, arrival, most):
    """Gradients there when each bucket is sent; sizes (k,), arrival (k,)."""
    buckets, held = [[]], 0
    for one in range(len(sizes) - 1, -1, -1):
        if buckets[-1] and held + sizes[one] > most:
            buckets.append([])
            held = 0
        buckets[-1].append(one)
        held += sizes[one]
    when = np.argsort(arrival) + 1
    return np.array([max(when[bucket]) for bucket in buckets])


def by_recursion(sizes, arrival, most):
    def first(left):
        for n in range(2, len(left) + 1):
            if sum(sizes[one] for one in left[:n]) > most:
                return n - 1
        return len(left)

    left, times = list(range(len(sizes)))[::-1], []
    while left:
        n = first(left)
        times.append(1 + max(list(arrival).index(one) for one in left[:n]))
        left = left[n:]
    return np.array(times)


def whatever_fits(sizes, arrival, most):
    left, times = list(range(len(sizes)))[::-1], []
    while left:
        bucket, held = [], 0
        for one in left:
            if not bucket or held + sizes[one] <= most:
                bucket.append(one)
                held += sizes[one]
        left = [one for one in left if one not in bucket]
        times.append(1 + max(list(arrival).index(one) for one in bucket))
    return np.array(times)


def cases(rng):
    return {
        "three buckets": (np.array([5, 3, 2, 4, 1]), np.array([4, 2, 3, 0, 1]), 6),
        "in the order of the buckets": (np.array([2, 2, 2, 2]), np.array([3, 2, 1, 0]), 4),
        "one is larger than a bucket": (np.array([3, 9, 2, 2]), np.array([3, 1, 2, 0]), 5),
        "a bucket exactly full": (np.array([4, 1, 3, 2, 3]), np.array([2, 4, 3, 0, 1]), 5),
        "the last is larger than a bucket": (np.array([2, 2, 9]), np.array([2, 0, 1]), 5),
        "a small one after a large one": (np.array([2, 4, 3]), np.array([2, 1, 0]), 5),
        "one bucket": (np.array([1, 2, 3]), np.array([1, 2, 0]), 50),
        "shuffled": (rng.integers(1, 6, size=8), rng.permutation(8), 7),
    }


VARIANTS = (by_recursion, {"max(when[bucket])": "when[bucket].max()"})
MISTAKES = (
    Mistake("counted from zero", "When the first gradient is ready, the count is one.",
        {"np.argsort(arrival) + 1": "np.argsort(arrival)"}),
    Mistake("from the first parameter on", "Buckets are filled from the last parameter to the first.",
        {"range(len(sizes) - 1, -1, -1)": "range(len(sizes))"}),
    Mistake("arrival read as times", "arrival holds the parameter that is ready at each time, not the time of each "
        "parameter.", {"np.argsort(arrival) + 1": "np.asarray(arrival) + 1"}),
    Mistake("a bucket runs over", "A new bucket begins before one would be above `most`, not after.",
        {"held + sizes[one] > most": "held > most"}, {"held + sizes[one] > most": "held >= most"}),
    Mistake("a full bucket is closed too early", "A bucket may have exactly `most`.",
        {"held + sizes[one] > most": "held + sizes[one] >= most"}),
    Mistake("the size of the bucket is not set back", "A new bucket is empty.", {"held = 0": "pass"}),
    Mistake("how many it has itself", "Count all gradients that are ready, not only those of the bucket.",
        {"max(when[bucket])": "len(bucket)"}),
    Mistake("an empty bucket", "A parameter larger than `most` fills a bucket alone. None is sent empty before it.",
        {"if buckets[-1] and held": "if held", "max(when[bucket])": "max([0, *when[bucket]])"}),
    Mistake("filled with what fits", "A new bucket begins where the next parameter has no room, even if a later one "
        "still fits.", whatever_fits),
    Mistake("in the order of arrival", "Buckets are filled from the last parameter to the first, before any gradient "
        "has come.", {"for one in range(len(sizes) - 1, -1, -1)": "for one in arrival"}),
    Mistake("waiting for the bucket before", "Each bucket waits here for the one before, as in most libraries. Here "
        "each is sent when its own gradients are ready.",
        {"np.array([max(when[bucket]) for bucket in buckets])":
             "np.maximum.accumulate([max(when[bucket]) for bucket in buckets])"}),
    Mistake("sorted by time", "One number for each bucket, in the order in which they are filled.",
        {"np.array([max(when[bucket]) for bucket in buckets])": "np.sort([max(when[bucket]) for bucket in buckets])"}),
    Mistake("as if they came from the last to the first", "This is right if the gradients become ready from the last "
        "parameter to the first. Their order is `arrival`.",
        {"np.array([max(when[bucket]) for bucket in buckets])": "np.cumsum([len(bucket) for bucket in buckets])"}),
)  # fmt: skip
