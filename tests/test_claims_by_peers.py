"""Claims about published models, judged by published code; with random parameters, without a download."""

import numpy as np
import torch
from transformers import BertConfig, GPT2Config, T5Config, ViTConfig
from transformers.models.bert.modeling_bert import BertModel
from transformers.models.gpt2.modeling_gpt2 import GPT2Model
from transformers.models.t5.modeling_t5 import T5Model
from transformers.models.vit.modeling_vit import ViTModel

from attnlib.testing import judged, ledger_row

SMALL = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
TOKENS = torch.tensor([[3, 1, 4, 1, 5]])


def leaves_normed(layer):
    """Is what leaves the last layer of a stack of mean zero and variance one, token by token?"""
    X = layer.detach()
    size = X.var(-1, unbiased=False)
    return bool(np.allclose(X.mean(-1), 0, atol=1e-4) and np.allclose(size, 1, atol=1e-2))


def test_bert_norms_behind_the_sum_and_gpt2_in_front_of_each_part():
    torch.manual_seed(0)
    bert = BertModel(BertConfig(vocab_size=9, **SMALL)).eval()
    gpt2 = GPT2Model(GPT2Config(vocab_size=9, n_embd=12, n_layer=2, n_head=2, initializer_range=0.5)).eval()
    heard = {}
    gpt2.h[-1].register_forward_hook(lambda module, given, said: heard.update(stream=said))
    gpt2(TOKENS)
    stream = heard["stream"] if torch.is_tensor(heard["stream"]) else heard["stream"][0]
    first = torch.nn.TransformerEncoderLayer(12, 2, 24, batch_first=True).eval()
    bert_behind = leaves_normed(bert(TOKENS).last_hidden_state)
    gpt2_behind = leaves_normed(stream)
    first_behind = leaves_normed(first(torch.randn(1, 5, 12)))
    ledger_row("C012", holds=bert_behind and not gpt2_behind, verdict=judged(said=not bert_behind))
    told = first_behind and not gpt2_behind
    ledger_row("C289", holds=told, verdict=judged(said=told))


def learned_places(model):
    """The parameters of a model that have a vector for each place."""
    return [name for name, _ in model.named_parameters() if "position" in name or name == "wpe.weight"]


@torch.no_grad()
def hears_places(bert, gpt2):
    """Does the vector of a place reach what is read there, in both models?"""
    found = []
    for model, places in ((bert, bert.embeddings.position_embeddings), (gpt2, gpt2.wpe)):
        before = model.eval()(TOKENS).last_hidden_state
        places.weight[4] += 1 - 2 * (torch.arange(12) % 2)  # of the last token; a norm leaves a plain 1 out
        after = model(TOKENS).last_hidden_state
        found.append(not torch.allclose(before[:, 4], after[:, 4], atol=1e-4))
    return all(found)


def test_bert_gpt2_and_vit_learn_a_vector_for_each_place_and_t5_a_number_for_each_distance():
    bert, vit = BertModel(BertConfig(vocab_size=9, **SMALL)), ViTModel(ViTConfig(image_size=32, **SMALL))
    gpt2 = GPT2Model(GPT2Config(vocab_size=9, n_embd=12, n_layer=2, n_head=2))
    t5 = T5Model(T5Config(vocab_size=9, d_model=12, d_kv=6, d_ff=24, num_layers=2, num_heads=2))
    each = [bool(learned_places(model)) for model in (bert, gpt2, vit)]
    biased = t5.encoder.block[0].layer[0].SelfAttention
    bias = biased.compute_bias(9, 9)[0].detach()  # (heads, queries, keys)
    by_distance = torch.equal(bias[:, 1:, 1:], bias[:, :-1, :-1]) and float(bias.std()) > 0
    learned = any(W is biased.relative_attention_bias.weight for W in t5.parameters())
    told = all(each) and hears_places(bert, gpt2) and not learned_places(t5) and by_distance and learned
    ledger_row("C290", holds=told, verdict=judged(said=told))
