"""The two doors of a model: a text becomes rows of a table, vectors become scores, and both ends have a token."""

import codecs
import contextlib
import io
import math

import numpy as np
import torch
import torch.nn.functional as F

from attnlib.data.bpe.tokenizer import Tokenizer
from attnlib.decode import sampler, tokens
from attnlib.models.config import ModelConfig
from attnlib.models.course import CONFIG, course_tokenizer
from attnlib.models.gpt import GPT, first_loss
from attnlib.reference.ops import softmax
from attnlib.testing import assert_close

VOCAB, D_MODEL, B, N = 11, 7, 2, 5


def test_a_lookup_is_a_one_hot_product_and_so_is_its_gradient():
    E = torch.randn(VOCAB, D_MODEL, dtype=torch.float64, requires_grad=True)
    read = torch.randint(0, VOCAB, (B, N))
    one_hot = F.one_hot(read, VOCAB).double()
    dX = torch.randn(B, N, D_MODEL, dtype=torch.float64)
    X = F.embedding(read, E)
    (dE,) = torch.autograd.grad(X, E, dX)
    assert_close(X, one_hot @ E, "float64")
    assert_close(dE, torch.einsum("bnv,bnd->vd", one_hot, dX), "float64")


def test_a_gpt_begins_with_rows_of_its_table_and_only_those_that_were_read_get_a_gradient():
    model = GPT(ModelConfig(vocab=VOCAB, context=N, d_model=8, n_heads=2, n_layers=1, tied=False))
    read, given = torch.tensor([[1, 3, 1]]), []
    model.places.register_forward_pre_hook(lambda _, inputs: given.append(inputs[0]))
    model(read).sum().backward()
    assert torch.equal(given[0], model.embed.weight[read])
    assert model.embed.weight.grad is not None
    heard = model.embed.weight.grad.abs().sum(-1) > 0
    assert heard.nonzero().flatten().tolist() == [1, 3]


def test_cross_entropy_is_minus_the_log_softmax_of_the_target():
    """The logits are dot products with the rows of the table, the probabilities their softmax: to 1e-12."""
    model = GPT(ModelConfig(vocab=VOCAB, context=N, d_model=8, n_heads=2, n_layers=1)).double()
    read = torch.randint(0, VOCAB, (B, N))
    with torch.no_grad():
        Z, Y = model(read), model.hidden(read)
    assert_close(Z, Y @ model.embed.weight.detach().T, "float64")
    targets = torch.randint(0, VOCAB, (B, N))
    losses = F.cross_entropy(Z.flatten(0, 1), targets.flatten(), reduction="none").numpy()
    P = softmax(Z.flatten(0, 1).numpy())
    np.testing.assert_allclose(losses, -np.log(P[np.arange(B * N), targets.flatten()]), rtol=0, atol=1e-12)


def test_an_untrained_model_has_a_first_loss_near_log_v_and_below_it_if_targets_are_not_shifted():
    torch.manual_seed(0)
    text = torch.randint(0, CONFIG.vocab, (4, 65))
    with torch.no_grad():
        Z = GPT(CONFIG)(text[:, :-1]).flatten(0, 1)
    shifted, same = (float(F.cross_entropy(Z, t.flatten())) for t in (text[:, 1:], text[:, :-1]))
    assert abs(shifted - first_loss(CONFIG)) < 0.15 and first_loss(CONFIG) == math.log(2048)
    assert same < first_loss(CONFIG) - 0.5


def test_more_merges_make_fewer_tokens_and_nothing_is_lost():
    """The Zen of Python, which stands in every library."""
    with contextlib.redirect_stdout(io.StringIO()):
        import this
    text = codecs.decode(this.s, "rot13")
    merges = course_tokenizer().merges
    lengths = []
    for known in (0, 64, 256, 1024, len(merges)):
        tokenizer = Tokenizer(merges[:known])
        numbers = tokenizer.encode(text)
        assert tokenizer.decode(numbers) == text
        lengths.append(len(numbers))
    assert lengths[0] == len(text.encode()) and lengths == sorted(set(lengths), reverse=True)
    assert len(text.encode()) / lengths[-1] > 2


def test_generated_texts_end_with_the_stop_token_as_often_as_those_that_were_learned():
    """Texts end behind each token with probability q; a model that counts what follows what says so, too."""
    rng, start, stop, letters, q = np.random.default_rng(0), 0, 1, (2, 3, 4), 0.2
    counts = np.full((5, 5), 1e-9)
    for _ in range(4000):
        text = [start, *rng.choice(letters, size=rng.geometric(q)), stop]
        np.add.at(counts, (text[:-1], text[1:]), 1)
    after = np.log(counts / counts.sum(-1, keepdims=True))
    n, longest = 4000, 5
    said = tokens(
        lambda prefix: after[prefix[:, -1]],
        np.full((n, 1), start),
        sampler(np.random.default_rng(1)),
        max_new_tokens=longest,
        stop=[stop],
        pad=stop,
    )
    ended = (said == stop).any(1).mean()
    expected = 1 - (1 - q) ** (longest - 1)  # a first letter, then four chances to stop
    # 4 standard errors of the fraction, and of q as it was learned from about 20,000 letters
    assert abs(ended - expected) < 4 * math.sqrt(expected * (1 - expected) / n) + 4 * 4 * math.sqrt(
        q * (1 - q) / 20_000
    )
    assert not (said == start).any()
