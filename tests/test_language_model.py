"""What makes a stack of blocks a language model: a chain of conditional probabilities, a shift, and a mask."""

import itertools
import math

import pytest
import torch
import torch.nn.functional as F

from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.nn.transformer import Block, FeedForward

START, VOCAB, N, D = 0, 3, 4, 8


@pytest.fixture
def model():
    torch.manual_seed(0)
    made = GPT(ModelConfig(vocab=VOCAB, context=N + 1, d_model=D, n_heads=2, n_layers=2)).double()
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.7)  # a model that has opinions
    return made


def test_the_probabilities_of_all_texts_sum_to_one(model):
    texts = torch.tensor(list(itertools.product(range(VOCAB), repeat=N)))
    read = torch.cat([torch.full((len(texts), 1), START), texts], 1)
    log_p = model(read[:, :-1]).log_softmax(-1)
    each = log_p.gather(-1, read[:, 1:, None])[..., 0].sum(1).exp()
    assert abs(each.sum().item() - 1) < 1e-12
    assert each.max() > 10 * each.min(), "texts differ, or the sum would prove nothing"


def test_one_pass_over_the_shifted_text_asks_what_each_prefix_alone_would_be_asked(model):
    text = torch.tensor([[START, 2, 1, 1, START]])  # what starts a text also ends it
    at_once = F.cross_entropy(model(text[:, :-1])[0], text[0, 1:])
    alone = [F.cross_entropy(model(text[:, :i])[0, -1], text[0, i]) for i in range(1, N + 1)]
    assert abs(at_once.item() - torch.stack(alone).mean().item()) < 1e-12
    unshifted = F.cross_entropy(model(text[:, :-1])[0], text[0, :-1])
    assert abs(at_once.item() - unshifted.item()) > 1e-2


@pytest.mark.parametrize("causal", [False, True])
def test_without_the_causal_mask_each_token_hears_the_whole_text(causal):
    torch.manual_seed(0)
    block = Block(
        attention=MultiHeadAttention(d_model=D, n_heads=2, causal=causal),
        feed_forward=FeedForward(d_model=D, d_hidden=4 * D),
    ).double()
    X = torch.randn(N, D, dtype=torch.float64)
    J = torch.autograd.functional.jacobian(block, X)
    assert isinstance(J, torch.Tensor)
    hears = (J != 0).any(1).any(-1)
    assert torch.equal(hears, torch.ones(N, N, dtype=torch.bool).tril() if causal else hears | True)


AFTER = torch.tensor([[0.0, 0.9, 0.1], [0.1, 0.0, 0.9], [0.9, 0.1, 0.0]])  # each comes a third of the time


def of_the_chain(rows: int) -> torch.Tensor:
    """Texts of the chain, 17 tokens each."""
    text = [torch.randint(VOCAB, (rows,))]
    for _ in range(16):
        text.append(torch.multinomial(AFTER[text[-1]], 1)[:, 0])
    return torch.stack(text, 1)


def test_on_fresh_text_of_a_chain_it_comes_near_the_entropy_and_on_average_not_below():
    torch.manual_seed(0)
    model = GPT(ModelConfig(vocab=VOCAB, context=16, d_model=16, n_heads=2, n_layers=1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(80):
        text = of_the_chain(64)
        loss = F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    fresh = of_the_chain(2000)
    now, then = fresh[:, :-1], fresh[:, 1:]
    with torch.no_grad():
        each = F.cross_entropy(model(now).flatten(0, 1), then.flatten(), reduction="none")
    own = -AFTER[now, then].log().flatten()  # of the chain itself; its mean is the entropy, but for chance
    excess = each - own
    error = float(excess.std()) / math.sqrt(excess.numel())
    assert -4 * error < excess.mean() < 0.02
    entropy = -(0.9 * math.log(0.9) + 0.1 * math.log(0.1))
    assert abs(own.mean() - entropy) < 4 * float(own.std()) / math.sqrt(own.numel())
    assert each.mean() < math.log(VOCAB) / 2
