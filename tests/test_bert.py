"""Our post-norm blocks that see everything are BERT: each layer of a random one of Hugging Face's, with its padding."""

import re
from functools import partial

import pytest
import torch
from torch import nn

from attnlib.models.encoder_decoder import for_queries
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.nn.transformer import Block, FeedForward
from attnlib.testing import assert_close

VOCAB, LONGEST, D, HEADS, LAYERS, HIDDEN, B, N = 31, 16, 12, 3, 3, 20, 3, 7
NAMES = {
    r"embeddings\.word_embeddings\.weight": "embed.weight",
    r"embeddings\.position_embeddings\.weight": "places.weight",
    r"embeddings\.token_type_embeddings\.weight": "sentences.weight",
    r"embeddings\.LayerNorm\.(weight|bias)": "norm.{0}",
    r"encoder\.layer\.(\d+)\.attention\.self\.query\.(weight|bias)": "blocks.{0}.attention.W_Q.{1}",
    r"encoder\.layer\.(\d+)\.attention\.self\.key\.(weight|bias)": "blocks.{0}.attention.W_K.{1}",
    r"encoder\.layer\.(\d+)\.attention\.self\.value\.(weight|bias)": "blocks.{0}.attention.W_V.{1}",
    r"encoder\.layer\.(\d+)\.attention\.output\.dense\.(weight|bias)": "blocks.{0}.attention.W_O.{1}",
    r"encoder\.layer\.(\d+)\.attention\.output\.LayerNorm\.(weight|bias)": "blocks.{0}.norm_1.{1}",
    r"encoder\.layer\.(\d+)\.intermediate\.dense\.(weight|bias)": "blocks.{0}.feed_forward.W_1.{1}",
    r"encoder\.layer\.(\d+)\.output\.dense\.(weight|bias)": "blocks.{0}.feed_forward.W_2.{1}",
    r"encoder\.layer\.(\d+)\.output\.LayerNorm\.(weight|bias)": "blocks.{0}.norm_2.{1}",
}


class Bert(nn.Module):
    """Token, place and sentence are added and normed; then the blocks."""

    def __init__(self, eps):
        super().__init__()
        self.embed, self.places, self.sentences = (nn.Embedding(n, D) for n in (VOCAB, LONGEST, 2))
        norm = partial(nn.LayerNorm, eps=eps)
        self.norm = norm(D)
        self.blocks = nn.ModuleList(
            Block(
                attention=MultiHeadAttention(d_model=D, n_heads=HEADS),
                feed_forward=FeedForward(d_model=D, d_hidden=HIDDEN, activation="gelu"),
                norm=norm,
                order="post",
            )
            for _ in range(LAYERS)
        )

    def forward(self, tokens, mask, sentences):
        X = self.embed(tokens) + self.places.weight[: tokens.shape[1]] + self.sentences(sentences)
        layers = [self.norm(X)]
        for block in self.blocks:
            layers.append(block(layers[-1], mask=for_queries(mask)))
        return layers


def renamed(key):
    """Where a published parameter goes; every one has its place."""
    (place,) = [
        goal.format(*found.groups()) for name, goal in NAMES.items() if (found := re.fullmatch(name, key))
    ]
    return place


@pytest.fixture
def pair():
    import transformers

    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=VOCAB, max_position_embeddings=LONGEST, hidden_size=D, num_hidden_layers=LAYERS,
        num_attention_heads=HEADS, intermediate_size=HIDDEN, hidden_dropout_prob=0, attention_probs_dropout_prob=0,
        initializer_range=0.3,
    )  # fmt: skip
    theirs = transformers.BertModel(config, add_pooling_layer=False).eval()
    with torch.no_grad():
        for name, W in theirs.named_parameters():
            if "bias" in name or "LayerNorm" in name:
                W.normal_(std=0.3)  # they begin as zeros and ones, which would hide an exchange
    ours = Bert(config.layer_norm_eps)
    ours.load_state_dict({renamed(name): W.detach() for name, W in theirs.named_parameters()})
    return ours.eval(), theirs


@pytest.fixture
def texts():
    generator = torch.Generator().manual_seed(1)
    mask = torch.arange(N) < torch.tensor([N, 3, 5])[:, None]
    tokens = torch.randint(1, VOCAB, (B, N), generator=generator).where(mask, 0)
    return tokens, mask, torch.randint(2, (B, N), generator=generator)


def test_every_layer_of_bert_is_a_post_norm_block_that_sees_everything(pair, texts):
    ours, theirs = pair
    tokens, mask, sentences = texts
    said = theirs(tokens, attention_mask=mask.long(), token_type_ids=sentences, output_hidden_states=True)
    layers = ours(tokens, mask, sentences)
    assert len(layers) == len(said.hidden_states) == LAYERS + 1
    for mine, other in zip(layers, said.hidden_states, strict=True):
        assert_close(mine[mask], other[mask], "float32")
    assert_close(layers[-1][mask], said.last_hidden_state[mask], "float32")


def test_a_padded_batch_is_its_texts_one_by_one_and_padding_would_be_seen_without_the_mask(pair, texts):
    ours, _ = pair
    tokens, mask, sentences = texts
    together = ours(tokens, mask, sentences)[-1]
    for b, n in enumerate(mask.sum(1)):
        alone = ours(tokens[b : b + 1, :n], None, sentences[b : b + 1, :n])[-1]
        assert_close(alone[0], together[b, :n], "float32")
    assert (ours(tokens, None, sentences)[-1] - together)[1, :3].abs().max() > 1e-2
