"""No function of `attnlib.nn` waits for the device: on tensors without values, whoever asks for one fails at once."""

import importlib
import inspect
import math
import pkgutil

import pytest
import torch

import attnlib.nn
from attnlib.nn import activations, hard, kernel, monotonic, ops, recurrent, sparse
from attnlib.nn.attention import scaled_dot_product_attention
from attnlib.nn.debug import checked_values
from attnlib.nn.delta_rule import DeltaRule
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.reference.patterns import causal
from attnlib.reference.recurrent import GRUParameters, LSTMParameters, LSTMState, RNNParameters

N, M, D, H = 5, 3, 4, 2
META = {"device": "meta"}
X, Y, V = torch.ones(N, D, **META), torch.ones(M, D, **META), torch.ones(M, 7, **META)
S, MASK, W = torch.ones(N, M, **META), torch.ones(N, M, **META) > 0, torch.ones(D, D, **META)
Z, INDEX, v = torch.ones(H, N, D, **META), torch.ones(N, dtype=torch.long, **META), torch.ones(D, **META)
STATE = LSTMState(v, v)
WIDE = {times: torch.ones(D, times * D, **META) for times in (1, 3, 4)}

CALLS = {
    "attend": (S, V, MASK),
    "attention_weights": (X, Y, MASK),
    "visible": (X, Y, MASK[:, :1], False),
    "fused_attention": (X, Y, V, MASK, S),
    "flash_attention": (X, Y, V),
    "scaled_dot_product_attention": (X, Y, V, MASK),
    "gate_heads": (Z, torch.ones(H, **META)),
    "index_scores": (Z, Y, torch.empty(N, H, **META)),
    "index_mask": (S, 1, MASK),
    "index_loss": (S, S, MASK),
    "kept_mass": (S, MASK),
    "positive_features": (X, torch.empty(5, X.shape[-1], **META)),
    "random_feature_attention": (X, Y, V, torch.empty(5, X.shape[-1], **META)),
    "causal_random_feature_attention": (X, X, X, torch.empty(5, X.shape[-1], **META)),
    "low_rank_attention": (X, Y, V, *torch.empty(2, 2, Y.shape[-2], **META)),
    "best_low_rank": (S, 1),
    "repeat_heads": (Z, 2),
    "one_hot": (INDEX, S),
    "hard_attention": (S, V, INDEX),
    "expected_reward": (S, S),
    "expected_reward_gradient": (S, S),
    "reinforce_loss": (S, INDEX, S[:, 0], 1.0),
    "reinforce_gradient": (S, INDEX, S[:, 0], 1.0),
    "score_lengths": (S,),
    "reinforce_variance": (S, S),
    "optimal_baseline": (S, S),
    "straight_through_attention": (S, V, INDEX),
    "split_heads": (X, H),
    "merge_heads": (Z,),
    "mask_for_heads": (MASK, 2),
    "exponential_kernel": (X, Y),
    "gaussian_kernel": (X, Y, 0.5),
    "kernel_regression": (X, Y, V, kernel.exponential_kernel),
    "causal_mask": (N, M, "meta"),
    "padding_mask": (INDEX, N),
    "window_mask": (N, 1, 2, "meta"),
    "prefix_mask": (N, 2, "meta"),
    "combine_masks": (MASK, MASK),
    "rows_without_a_key": (MASK,),
    "additive_from_mask": (MASK,),
    "mask_from_additive": (S,),
    "mask_from_torch_padding": (MASK,),
    "mask_from_torch_attention": (MASK,),
    "monotonic_scan": (MASK,),
    "hard_monotonic_alignment": (S,),
    "monotonic_alignment": (S,),
    "linear": (X, W, v),
    "length": (X,),
    "unit": (X,),
    "softmax": (S,),
    "masked_softmax": (S, MASK),
    "log_sum_exp": (S,),
    "log_softmax": (S,),
    "softmax_with_temperature": (S, 2.0),
    "entropy": (S,),
    "layer_norm": (X, v, v),
    "rms_norm": (X, v),
    "batch_norm": (X, v, v),
    "depthwise_convolution": (X, W, v),
    "short_convolution": (X, W, X),
    "clipped": (INDEX, 2),
    "t5_buckets": (INDEX,),
    "offset_bias": (S, MASK.long()),
    "shaw_scores": (X, W, MASK.long()),
    "stochastic_depth": (X, X[0, 0] > 0, 0.5),
    "cross_entropy": (S, INDEX),
    "smoothed_cross_entropy": (S, INDEX, 0.1),
    "soft_cross_entropy": (S, S),
    "z_loss": (S,),
    "sequence_loss": (S, INDEX, INDEX > 0),
    "smoothed_over_all": (INDEX, 3, 0.1),
    "smoothed_over_others": (INDEX, 3, 0.1),
    "dropout": (S, MASK, 0.5),
    "dropped_attention": (X, Y, V, MASK, 0.5, MASK),
    "embed": (INDEX, W),
    "scaled_embed": (INDEX, W),
    "tied_scores": (X, W),
    "glu": (X, X),
    "reglu": (X, X),
    "geglu": (X, X),
    "swiglu": (X, X),
    "relu": (X,),
    "gelu": (X,),
    "gelu_tanh": (X,),
    "swish": (X,),
    "sigmoid": (X,),
    "pre_norm": (X, ops.unit, activations.relu),
    "post_norm": (X, ops.unit, activations.relu),
    "without_residual": (X, ops.unit, activations.relu),
    "angles": (X[:, 0], D),
    "rotary": (X, X[:, 0]),
    "rotary_halves": (X, X[:, 0]),
    "keep_top_k": (S, 2),
    "keep_nucleus": (S, 0.5),
    "keep_min_p": (S, 0.5),
    "sample": (S, S[:, 0]),
    "rnn_cell": (v, v, RNNParameters(W, W, v)),
    "rnn_jacobian": (v, W),
    "jacobian_through_time": (W, X),
    "gru_cell": (v, v, GRUParameters(WIDE[3], WIDE[3], WIDE[3][0], WIDE[3][0])),
    "lstm_cell": (v, STATE, LSTMParameters(WIDE[4], WIDE[4], WIDE[4][0])),
    "unroll": (recurrent.rnn_cell, X, v, RNNParameters(W, W, v)),
    "dot_scores": (X, Y),
    "scaled_dot_scores": (X, Y),
    "multiplicative_scores": (X, Y, W),
    "additive_scores": (X, Y, W, W, v),
    "cosine_scores": (X, Y),
    "location_scores": (X, W),
    "dense_mask": (causal(), M, N, "meta"),
    "pattern_attention": (Y, X, X, causal()),
    "top_k_mask": (S, 2),
    "top_k_attention": (X, Y, V, 2, MASK),
    "local_mask": (N, M, 1.0, v.new_ones(N)),
    "local_attention": (X, Y, V, v.new_ones(N), 1.0, MASK),
    "elu_plus_one": (X,),
    "decay_products": (X[:, 0],),
    "linear_attention": (X, X, X, X[:, 0]),
    "linear_attention_recurrent": (X, X, X, X[:, 0], W),
    "linear_attention_chunked": (X, X, X, 2, X[:, 0], W),
    "normalised_linear_attention": (X, X, X),
    "gated_linear_attention": (X, X, X, X, W),
    "gated_linear_attention_chunked": (X, X, X, X, 2, W),
    "delta_rule": (X, X, X, X[:, 0], X[:, 0], W),
    "delta_rule_chunked": (X, X, X, X[:, 0], 2, X[:, 0], W),
    "zero_order_hold": (W, v, 0.1),
    "bilinear": (W, v, 0.1),
    "state_space_recurrence": (X, W, v, v),
    "state_space_kernel": (W, v, v, 3),
    "causal_convolution": (X, X),
    "diagonal_zero_order_hold": (W + 0j, W + 0j, v),
    "diagonal_bilinear": (W + 0j, W + 0j, v),
    "diagonal_kernel": (W + 0j, W + 0j, W + 0j, 3),
    "diagonal_recurrence": (X, W + 0j, W + 0j, W + 0j),
    "dplr_recurrence": (X, v + 0j, v + 0j, v + 0j, v + 0j, 0.1),
    "dplr_kernel": (v + 0j, v + 0j, v + 0j, v + 0j, 0.1, 3),
    "selective_scan": (X, X, W, X, X, W),
    "associative_scan": (X[..., None], X[..., None]),
    "selective_scan_parallel": (X, X, W, X, X, W),
}
TABLE = "takes whole numbers: a layer makes its table once, when it is built"
ELSEWHERE = {
    "scores_computed": "returns a number of Python: it counts for a reader, and no layer calls it",
    "sample_hard": "draws with a generator, which there is none of without values",
    "sample_monotonic_alignment": "draws with a generator, which there is none of without values",
    "orthogonal": "draws with a generator, which there is none of without values",
    "iid_directions": "draws with a generator, which there is none of without values",
    "orthogonal_directions": "draws with a generator, which there is none of without values",
    "random_projection": "draws with a generator, which there is none of without values",
    "index": TABLE,
    "normalised_index": TABLE,
    "wavelengths": TABLE,
    "sinusoids": TABLE,
    "distances": TABLE,
    "alibi_slopes": TABLE,
    "alibi": TABLE,
    "documents": "makes a rule for positions, which is called elsewhere",
    "block_table": "makes a rule for positions, which is called elsewhere",
    "random_blocks": "makes a rule for positions, which is called elsewhere",
    "block_mask": "reads what a rule returns, once for all layers",
    "flex_mask": "makes the block mask of FlexAttention, once for all layers",
    "parameters_of": "takes a module, and moves nothing",
    "dropout_of": "makes a module",
    "with_direct_calls": "takes a module, and moves nothing",
    "gated_heads": "takes a module, and is a block",
}


def functions():
    for file in pkgutil.iter_modules(attnlib.nn.__path__, "attnlib.nn."):
        for name, value in vars(importlib.import_module(file.name)).items():
            public = inspect.isfunction(value) and value.__module__ == file.name and name[0] != "_"
            if public and not file.name.endswith(".debug"):
                yield name, value


FUNCTIONS = dict(functions())


def test_every_function_is_called_here_or_says_why_not():
    assert FUNCTIONS.keys() == CALLS.keys() | ELSEWHERE.keys()
    assert not CALLS.keys() & ELSEWHERE.keys()


@pytest.mark.parametrize("name", CALLS)
def test_it_computes_without_a_look_at_a_value(name):
    result = FUNCTIONS[name](*CALLS[name])
    tensors = result if isinstance(result, list | tuple) else [result]
    assert tensors and all(tensor.is_meta for tensor in tensors)


LOOKING = {
    "unit": (lambda: ops.unit(torch.zeros(1, 2)), "each vector must be longer than zero"),
    "softmax": (lambda: ops.softmax(torch.tensor([math.nan, 0.0])), "softmax: scores must be finite or -inf"),
    "entropy": (lambda: ops.entropy(torch.tensor([-1.0, 2.0])), "probabilities must not be negative"),
    "attention": (
        lambda: scaled_dot_product_attention(*torch.full((3, 1, 2), math.inf)),
        "V must be finite; got 2 NaN or infinite entries in V",
    ),
    "kernel": (
        lambda: kernel.kernel_regression(
            torch.zeros(1, 1),
            torch.full((1, 1), 99.0),
            torch.zeros(1, 1),
            lambda Q, K: kernel.gaussian_kernel(Q, K, 1.0),
        ),
        "each query needs a key with a kernel value above zero",
    ),
    "draw": (
        lambda: hard.hard_attention(torch.tensor([[1.0, 0.0]]), torch.ones(2, 1), torch.tensor([1])),
        "a key of weight zero cannot have been drawn",
    ),
    "reader": (
        lambda: monotonic.monotonic_alignment(torch.tensor([[2.0]])),
        "selection probabilities must lie between 0 and 1",
    ),
    "top k": (
        lambda: sparse.top_k_mask(torch.tensor([math.nan, 0.0]), 1),
        "top_k_mask: scores must be finite",
    ),
    "layer": (
        lambda: MultiHeadAttention(d_model=4, n_heads=2, n_kv_heads=1, causal=True)(
            torch.full((1, 3, 4), math.nan)
        ),
        "scaled_dot_product_attention: V must be finite; got 6 NaN",
    ),
    "layer with a state": (
        lambda: DeltaRule(d_model=4, n_heads=2)(torch.full((1, 3, 4), math.nan)),
        "delta_rule_chunked: K must be finite; got 12 NaN",
    ),
}


@pytest.mark.parametrize("name", LOOKING)
def test_inside_the_block_bad_values_are_named_and_after_it_they_are_not(name):
    call, sentence = LOOKING[name]
    call()
    with checked_values():
        with pytest.raises(ValueError, match=sentence):
            call()
        with checked_values():
            pass
        with pytest.raises(ValueError, match=sentence):
            call()
    call()
    with pytest.raises(RuntimeError, match="on purpose"), checked_values():
        raise RuntimeError("on purpose")
    call()


def test_inside_the_block_a_key_that_does_not_exist_is_named():
    with (
        checked_values(),
        pytest.raises(ValueError, match="index must lie between 0 and n - 1 = 1; got values from 2"),
    ):
        hard.hard_attention(torch.full((1, 2), 0.5), torch.ones(2, 1), torch.tensor([2]))
