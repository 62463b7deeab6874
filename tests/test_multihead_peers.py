"""Multi-head attention against other people's: PyTorch's module and operator, and layers of BERT and GPT-2."""

import pytest
import torch
import torch.nn.functional as F

from attnlib.nn.heads import merge_heads, split_heads
from attnlib.nn.masks import additive_from_mask, causal_mask, combine_masks, padding_mask
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.reference.multihead import MultiHeadParameters, multi_head_attention
from attnlib.testing import assert_close, copy_parameters

B, N, M, H, D_K = 2, 5, 3, 3, 7
D, D_SOURCE = H * D_K, 11
LENGTHS = torch.tensor([2, 5])
EXACT = 1e-12  # float64: the order of the additions is all that differs


@pytest.fixture
def draw():
    generator = torch.Generator().manual_seed(20170612)
    return lambda *shape: torch.randn(shape, generator=generator, dtype=torch.float64)


def furthest(ours, theirs):
    return float((ours - theirs).detach().abs().max())


def filled(module, draw):
    """The module with every parameter random: a bias of zero would hide that it was forgotten."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(draw(*parameter.shape) / parameter.shape[-1] ** 0.5)
    return module


def parameters_of_pytorch(module):
    if module.in_proj_weight is None:
        maps = [module.q_proj_weight, module.k_proj_weight, module.v_proj_weight]
    else:
        maps = module.in_proj_weight.chunk(3)
    matrices = [*maps, module.out_proj.weight]
    biases = [*module.in_proj_bias.chunk(3), module.out_proj.bias]
    return MultiHeadParameters(
        *(W.detach().T.numpy() for W in matrices), *(b.detach().numpy() for b in biases)
    )


MASKS = {
    "none": lambda m: None,
    "causal": lambda m: causal_mask(N, m),
    "padding": lambda m: padding_mask(LENGTHS, N),
    "both": lambda m: combine_masks(causal_mask(N, m), padding_mask(LENGTHS, N)),
}


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("crossed", [False, True], ids=["self", "cross, n != m"])
def test_it_equals_pytorchs_module_in_output_weights_and_slopes(name, crossed, draw):
    d_source = D_SOURCE if crossed else D
    theirs = torch.nn.MultiheadAttention(D, H, batch_first=True, kdim=d_source, vdim=d_source).double()
    parameters = parameters_of_pytorch(filled(theirs, draw))
    ours = MultiHeadAttention(d_model=D, n_heads=H, d_source=d_source).double()
    copy_parameters(parameters, ours)
    m = M if crossed else N
    X = draw(B, m, D).requires_grad_()
    source = draw(B, N, d_source).requires_grad_() if crossed else X
    mask = MASKS[name](m)
    hidden = None if mask is None else ~mask.expand(B, m, N).repeat_interleave(H, dim=0)
    expected, P = theirs(X, source, source, attn_mask=hidden, average_attn_weights=False)
    given = (X, source if crossed else None, mask)
    Y = ours(*given)
    assert furthest(Y, expected) < EXACT and furthest(ours.attention_weights(*given), P) < EXACT
    by_numpy, _ = multi_head_attention(
        *(A.detach().numpy() for A in (X, source)), parameters, H, as_array(mask)
    )
    assert furthest(torch.tensor(by_numpy), expected) < EXACT
    dY, leaves = draw(*Y.shape), [X, source] if crossed else [X]
    mine = torch.autograd.grad(Y, [*leaves, ours.W_O.weight, ours.W_Q.bias], dY)
    in_bias = theirs.in_proj_bias
    other = torch.autograd.grad(expected, [*leaves, theirs.out_proj.weight, in_bias], dY)
    assert all(furthest(a, b) < EXACT for a, b in zip(mine[:-1], other[:-1], strict=True))
    assert furthest(mine[-1], other[-1][:D]) < EXACT


def as_array(mask):
    return None if mask is None else mask.numpy()


@pytest.mark.parametrize("groups", [1, 2])
def test_grouped_heads_equal_pytorchs_operator(groups, draw):
    module = filled(MultiHeadAttention(d_model=28, n_heads=4, n_kv_heads=groups).double(), draw)
    X = draw(B, N, 28)
    Q = split_heads(module.W_Q(X), 4)
    K, V = split_heads(module.W_K(X), groups), split_heads(module.W_V(X), groups)
    Z = F.scaled_dot_product_attention(Q, K, V, is_causal=True, enable_gqa=True)
    assert furthest(module(X, mask=causal_mask(N)), module.W_O(merge_heads(Z))) < EXACT


def additive(mask):
    return additive_from_mask(mask, torch.finfo(torch.float32).min, torch.float32)


# transformers takes seconds to load, and each process that collects the tests would wait for it: so it is loaded late.


def test_it_equals_a_layer_of_bert_with_random_parameters(draw):
    from transformers import BertConfig
    from transformers.models.bert.modeling_bert import BertSelfAttention

    config = BertConfig(
        hidden_size=D, num_attention_heads=H, attention_probs_dropout_prob=0.0, attn_implementation="eager"
    )
    theirs = filled(BertSelfAttention(config), draw)
    output = filled(torch.nn.Linear(D, D), draw)  # in BERT the output's map stands in the next module
    linears = [theirs.query, theirs.key, theirs.value, output]
    ours = MultiHeadAttention(d_model=D, n_heads=H)
    copy_parameters(
        MultiHeadParameters(
            *(f.weight.detach().T.numpy() for f in linears), *(f.bias.detach().numpy() for f in linears)
        ),
        ours,
    )
    X, mask = draw(B, N, D).float(), padding_mask(LENGTHS, N)
    Z, P = theirs(X, attention_mask=additive(mask)[:, None])
    assert_close(ours(X, mask=mask), output(Z), "float32")
    assert_close(ours.attention_weights(X, mask=mask), P, "float32")


def test_it_equals_a_layer_of_gpt2_with_random_parameters(draw):
    from transformers import GPT2Config
    from transformers.models.gpt2.modeling_gpt2 import GPT2Attention

    config = GPT2Config(
        n_embd=D, n_head=H, attn_pdrop=0.0, resid_pdrop=0.0, attn_implementation="eager", vocab_size=2
    )
    theirs = filled(GPT2Attention(config, layer_idx=0), draw)
    ours = MultiHeadAttention(d_model=D, n_heads=H)
    W_Q, W_K, W_V = theirs.c_attn.weight.detach().split(D, dim=1)  # stored (in, out), as in the book
    b_Q, b_K, b_V = theirs.c_attn.bias.detach().split(D)
    W_O, b_O = theirs.c_proj.weight.detach(), theirs.c_proj.bias.detach()
    copy_parameters(MultiHeadParameters(*(W.numpy() for W in (W_Q, W_K, W_V, W_O, b_Q, b_K, b_V, b_O))), ours)
    X, mask = draw(B, N, D).float(), causal_mask(N)
    Y, P = theirs(X, attention_mask=additive(mask)[None, None])
    assert_close(ours(X, mask=mask), Y, "float32")
    assert_close(ours.attention_weights(X, mask=mask), P, "float32")


def test_model_families_come_in_several_widths():
    """C109: one width for BERT, GPT-2 and T5 is one size of each; the library's smallest GPT-2 has 768, not 1024."""
    from transformers import BertConfig, GPT2Config, T5Config

    bert, gpt2, t5 = BertConfig(), GPT2Config(), T5Config()
    assert (bert.hidden_size, gpt2.n_embd, t5.d_model) == (768, 768, 512)
