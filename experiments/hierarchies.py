"""Can one layer find a pair in a far chunk, through summaries or by choosing chunks? (book: Hierarchies)

A text has 8 chunks of 8 pairs of a key and a value, and then a chunk of 8 queries, each one of the keys; the right
answer is its value. No pair is in the queries' own chunk. Group "any": each of the 64 pairs may be asked for. Group
"marked": one pair of each chunk carries a mark, and only marked ones are asked for, so that a summary can know what to
keep. One layer with one head of 16 numbers reads the queries; all arms have the same layers for queries, keys, values
and outputs.

    within          the own chunk alone: knows nothing of the answer
    means           a mean of keys and values for each earlier chunk
    learned         the same, weighted by a softmax of scores that are learned
    chosen          the tokens of two chunks, chosen by the means of their keys, as in MoBA
    chosen, finer   the same with chunks of half the size, of which four are chosen: as many tokens
    both            learned summaries, and the tokens of two chunks that these choose, each with its own softmax and a
                    learned gate, as in NSA
    full            all tokens
"""

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from _runner import Experiment, main
from torch import Tensor, nn

from attnlib.nn.attention import scaled_dot_product_attention
from attnlib.nn.hierarchical import coarse_to_fine_attention, pool_chunks, two_level_attention
from attnlib.nn.sparse import top_k_mask

CHUNKS, CHUNK, KEYS, VALUES, WIDTH, BATCH, CHOSEN, TESTED = 8, 8, 128, 16, 16, 32, 2, 400
PAIRS = CHUNKS * CHUNK
REPORTED, CHOOSING = (
    2**31,
    2**31 + 1,
)  # seeds of the texts for the figure, and of those by which a rate is chosen


class Texts(NamedTuple):
    keys: Tensor  # (b, pairs)
    values: Tensor
    marks: Tensor
    asked: Tensor  # (b, chunk), the position of the pair that is asked for


def texts(size: int, marked: bool, generator: torch.Generator) -> Texts:
    """Different keys, any values; a mark on one pair of each chunk, or on none."""
    keys = torch.rand(size, KEYS, generator=generator).argsort(dim=1)[:, :PAIRS]
    values = torch.randint(VALUES, (size, PAIRS), generator=generator)
    if not marked:
        asked = torch.randint(PAIRS, (size, CHUNK), generator=generator)
        return Texts(keys, values, torch.zeros_like(values), asked)
    at = torch.randint(CHUNK, (size, CHUNKS), generator=generator) + CHUNK * torch.arange(CHUNKS)
    asked = at.gather(1, torch.randint(CHUNKS, (size, CHUNK), generator=generator))
    return Texts(keys, values, torch.zeros_like(values).scatter(1, at, 1), asked)


class Reader(nn.Module):
    """One layer of attention from the queries to everything; `arm` says what they attend to."""

    def __init__(self, arm: str) -> None:
        super().__init__()
        self.arm, self.chunk, self.k = arm, CHUNK, CHOSEN
        if arm == "chosen, finer":
            self.chunk, self.k = CHUNK // 2, 2 * CHOSEN
        self.key, self.value, self.mark = (nn.Embedding(m, WIDTH) for m in (KEYS, VALUES, 2))
        self.asks = nn.Parameter(torch.randn(WIDTH))
        self.norm, self.gate = nn.RMSNorm(WIDTH), nn.Linear(WIDTH, 2)
        self.W_Q, self.W_K, self.W_V, self.W_O, self.W_ZK, self.W_ZV = (
            nn.Linear(WIDTH, WIDTH) for _ in range(6)
        )
        self.unembed = nn.Linear(WIDTH, VALUES)

    def forward(self, given: Texts) -> tuple[Tensor, Tensor | None]:
        """Scores of the values for each query, and which chunks were chosen."""
        pairs = self.key(given.keys) + self.value(given.values) + self.mark(given.marks)
        queries = self.key(given.keys.gather(1, given.asked)) + self.asks
        Y = self.norm(torch.cat([pairs, queries], dim=1))
        Q, K, V = self.W_Q(Y[:, PAIRS:]), self.W_K(Y), self.W_V(Y)
        if self.arm == "full":
            past = torch.ones(CHUNK, PAIRS + CHUNK, dtype=torch.bool).tril(PAIRS)
            return self.unembed(queries + self.W_O(scaled_dot_product_attention(Q, K, V, past))), None
        learned = self.arm in ("learned", "both")
        K_far = pool_chunks(K, self.W_ZK(Y) if learned else None, self.chunk)
        V_far = pool_chunks(V, self.W_ZV(Y) if learned else None, self.chunk)
        S_far, by_summary, by_choice, best = Q @ K_far.mT, None, None, None
        if self.arm in ("means", "learned", "both"):
            by_summary = two_level_attention(Q, K, V, K_far, V_far, self.chunk)
        if self.arm in ("within", "chosen", "chosen, finer", "both"):
            k, far = 0 if self.arm == "within" else self.k, PAIRS // self.chunk
            S_far[..., far:] = -torch.inf  # the queries' own, where their chunk is two halves
            by_choice = coarse_to_fine_attention(Q, K, V, S_far, k, self.chunk)
            best = top_k_mask(S_far[..., :far], k) if k else None
        if by_summary is not None and by_choice is not None:
            gates = torch.sigmoid(self.gate(Y[:, PAIRS:]))
            O = gates[..., :1] * by_summary + gates[..., 1:] * by_choice
        else:
            O = by_summary if by_choice is None else by_choice
        return self.unembed(queries + self.W_O(O)), best


@torch.no_grad()
def measured(model: Reader, marked: bool, seed: int) -> tuple[float, float | None]:
    """The share of right answers, and how often the right chunk is among those that were chosen."""
    given = texts(TESTED, marked, torch.Generator().manual_seed(seed))
    scores, best = model(given)
    right = (scores.argmax(-1) == given.values.gather(1, given.asked)).float().mean().item()
    found = (
        None if best is None else best.gather(-1, given.asked[..., None] // model.chunk).float().mean().item()
    )
    return right, found


def trial(seed: int, steps: int, lr: float, *, arm: str, marked: bool) -> dict[str, Any]:
    """Train one model; its right answers on new texts, and on others by which the rate is chosen."""
    torch.manual_seed(seed)
    model, generator = Reader(arm), torch.Generator().manual_seed(seed)
    optimiser = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.0, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda t: min(1, 20 * (t + 1) / steps) * (1 - t / steps)
    )
    for _ in range(steps):
        given = texts(BATCH, marked, generator)
        scores, _ = model(given)
        loss = F.cross_entropy(scores.flatten(0, 1), given.values.gather(1, given.asked).flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    accuracy, found = measured(model, marked, REPORTED)
    return {"accuracy": accuracy, "chosen_by": measured(model, marked, CHOOSING)[0], "found": found}


ANY = ("within", "means", "learned", "chosen", "chosen, finer", "both", "full")
MARKED = ("means", "learned", "chosen", "both", "full")
EXPERIMENT = Experiment(
    name="hierarchies",
    question="can one layer find a pair in a far chunk, through summaries or by choosing chunks?",
    trial=trial,
    arms={
        "any": {arm: {"arm": arm, "marked": False} for arm in ANY},
        "marked": {arm: {"arm": arm, "marked": True} for arm in MARKED},
    },
    steps=250,
    rates=(0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16),
    at_each=True,
    chosen_by="chosen_by",
    longest=4,
    settings={
        "chunks": CHUNKS, "chunk": CHUNK, "keys": KEYS, "values": VALUES, "width": WIDTH, "batch": BATCH,
        "chosen": CHOSEN, "tested": TESTED,
    },
)  # fmt: skip

if __name__ == "__main__":
    main(EXPERIMENT)
