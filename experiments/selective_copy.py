"""Can a layer keep a few tokens and pass the noise between them over? (book: state-spaces)

Selective copying: 4 symbols stand at random positions among 12 tokens of noise, and 4 calls after them are to repeat
them in order. Three models of two blocks differ in what mixes the positions: a state space with fixed maps (S4D), one
whose step and maps come from the token (Mamba), and softmax attention with rotary positions. Measured are right answers
on texts as in training, and on texts with two and four times as many tokens before the calls; of Mamba also the steps
that it takes at noise and at symbols.
"""

from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from _runner import Experiment, main
from torch import Tensor, nn

from attnlib.data.selective import selective_copy
from attnlib.nn.block import BlockStack
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.nn.positional import Rotary
from attnlib.nn.selective_scan import SelectiveScan
from attnlib.nn.state_space import StateSpace
from attnlib.nn.transformer import Block, FeedForward
from attnlib.shapes import Float, Int
from attnlib.train.fit import fit
from attnlib.train.toy import TEST_SEED, answer_accuracy, answer_loss, examples, fresh

LENGTH, DATA, SYMBOLS, WIDTH, HEADS, STATE, BATCH, SIZE = 16, 4, 8, 32, 4, 8, 32, 500
MIXERS = {
    "fixed": partial(StateSpace, d_state=STATE, expand=1, selective=False),
    "selective": partial(StateSpace, d_state=STATE, expand=1),
    "attention": partial(MultiHeadAttention, n_heads=HEADS, causal=True),
}


class Model(nn.Module):
    """Tokens in, scores of the symbols out, two blocks between them."""

    def __init__(self, mixer: str) -> None:
        super().__init__()
        self.embed = nn.Embedding(SYMBOLS + 2, WIDTH)
        blocks = [
            Block(
                attention=MIXERS[mixer](d_model=WIDTH),
                feed_forward=FeedForward(d_model=WIDTH, d_hidden=2 * WIDTH),
            )
            for _ in range(2)
        ]
        turned = Rotary(WIDTH // HEADS, context=5 * LENGTH, layout="halves") if mixer == "attention" else None
        self.blocks = BlockStack(blocks, rotate=turned)
        self.norm, self.scores = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, SYMBOLS)

    def forward(self, tokens: Int[Tensor, "b n"]) -> Float[Tensor, "b n symbols"]:
        return self.scores(self.norm(self.blocks(self.embed(tokens))))


def steps_taken(model: Model, size: int) -> list[dict[str, float]]:
    """The mean step of each selective block, over its channels, at tokens of noise and at symbols."""
    tokens = torch.from_numpy(selective_copy(size, LENGTH, DATA, SYMBOLS, seed=TEST_SEED).source)
    kinds, found = {"noise": tokens == SYMBOLS, "symbols": tokens < SYMBOLS}, []

    def note(_map: nn.Module, _token: Any, before_softplus: Tensor) -> None:
        steps = F.softplus(before_softplus).mean(dim=-1)
        found.append({kind: round(float(steps[here].mean()), 5) for kind, here in kinds.items()})

    hooks = [
        one.W_step.register_forward_hook(note) for one in model.modules() if isinstance(one, SelectiveScan)
    ]
    with torch.no_grad():
        model(tokens)
    for hook in hooks:
        hook.remove()
    return found


def trial(seed: int, steps: int, lr: float, *, mixer: str, size: int = SIZE) -> dict[str, Any]:
    """Train one model; right answers on other texts, and on longer ones."""
    torch.manual_seed(seed)
    model = Model(mixer)
    fit(
        model, answer_loss, fresh(lambda s: selective_copy(BATCH, LENGTH, DATA, SYMBOLS, seed=s), seed),
        steps=steps, lr=lr,
    )  # fmt: skip

    def right(times: int, data_seed: int = TEST_SEED) -> float:
        return answer_accuracy(
            model, examples(selective_copy(size, times * LENGTH, DATA, SYMBOLS, seed=data_seed))
        )

    return {
        "accuracy": right(1),
        "held_out": right(1, TEST_SEED + 1),
        "twice as long": right(2),
        "four times as long": right(4),
        "parameters": sum(p.numel() for p in model.parameters()),
    } | ({"steps": steps_taken(model, size)} if mixer == "selective" else {})


EXPERIMENT = Experiment(
    name="selective-copy",
    question="can a layer keep a few tokens and pass the noise between them over?",
    trial=trial,
    arms={"selective copying": {mixer: {"mixer": mixer} for mixer in MIXERS}},
    steps=250,
    rates=(1e-3, 3e-3, 1e-2, 3e-2, 1e-1),
    at_each=True,
    chosen_by="held_out",
    longest=4,
    settings={
        "length": LENGTH,
        "data": DATA,
        "symbols": SYMBOLS,
        "width": WIDTH,
        "state": STATE,
        "batch": BATCH,
        "tested": SIZE,
    },  # fmt: skip
    once=lambda: {"chance": selective_copy(1, LENGTH, DATA, SYMBOLS).chance},
)

if __name__ == "__main__":
    main(EXPERIMENT)
