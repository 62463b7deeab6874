"""The names that `attnlib.nn` exports, each where it is defined; a name of two files is the first one's.

A function with its file's name is imported from the file, because the package has the file under that name."""

from attnlib.nn.activations import (
    gelu as gelu,
    gelu_tanh as gelu_tanh,
    relu as relu,
    sigmoid as sigmoid,
    swish as swish,
)
from attnlib.nn.attention import (
    AttentionLayer as AttentionLayer,
    attend as attend,
    attention_weights as attention_weights,
    fused_attention as fused_attention,
    scaled_dot_product_attention as scaled_dot_product_attention,
    visible as visible,
)
from attnlib.nn.block import BlockStack as BlockStack
from attnlib.nn.cache import DecoderCache as DecoderCache, KVCache as KVCache, SourceCache as SourceCache
from attnlib.nn.convolution import (
    ConvolvedFeedForward as ConvolvedFeedForward,
    ShortConvolution as ShortConvolution,
    depthwise_convolution as depthwise_convolution,
    short_convolution as short_convolution,
)
from attnlib.nn.debug import checked_values as checked_values
from attnlib.nn.delta_rule import DeltaRule as DeltaRule, delta_rule_chunked as delta_rule_chunked
from attnlib.nn.depth import StochasticDepth as StochasticDepth, stochastic_depth as stochastic_depth
from attnlib.nn.direct_calls import DirectCalls as DirectCalls, with_direct_calls as with_direct_calls
from attnlib.nn.drop import dropout as dropout, dropped_attention as dropped_attention
from attnlib.nn.embedding import embed as embed, scaled_embed as scaled_embed, tied_scores as tied_scores
from attnlib.nn.flash import flash_attention as flash_attention
from attnlib.nn.gates import gate_heads as gate_heads, gated_heads as gated_heads
from attnlib.nn.glu import geglu as geglu, reglu as reglu, swiglu as swiglu
from attnlib.nn.grouped import repeat_heads as repeat_heads
from attnlib.nn.hard import (
    expected_reward as expected_reward,
    expected_reward_gradient as expected_reward_gradient,
    hard_attention as hard_attention,
    one_hot as one_hot,
    optimal_baseline as optimal_baseline,
    reinforce_gradient as reinforce_gradient,
    reinforce_loss as reinforce_loss,
    reinforce_variance as reinforce_variance,
    sample_hard as sample_hard,
    score_lengths as score_lengths,
    straight_through_attention as straight_through_attention,
)
from attnlib.nn.heads import (
    mask_for_heads as mask_for_heads,
    merge_heads as merge_heads,
    split_heads as split_heads,
)
from attnlib.nn.hierarchical import (
    coarse_to_fine_attention as coarse_to_fine_attention,
    pool_chunks as pool_chunks,
    score_bounds as score_bounds,
    two_level_attention as two_level_attention,
)
from attnlib.nn.indexer import (
    LightningIndexer as LightningIndexer,
    index_loss as index_loss,
    index_mask as index_mask,
    index_scores as index_scores,
    kept_mass as kept_mass,
)
from attnlib.nn.kernel import (
    exponential_kernel as exponential_kernel,
    gaussian_kernel as gaussian_kernel,
    kernel_regression as kernel_regression,
)
from attnlib.nn.latent import LatentAttention as LatentAttention
from attnlib.nn.layers import CrossAttention as CrossAttention, SelfAttention as SelfAttention
from attnlib.nn.linear_attention import (
    LinearAttention as LinearAttention,
    decay_products as decay_products,
    elu_plus_one as elu_plus_one,
    linear_attention_chunked as linear_attention_chunked,
    linear_attention_recurrent as linear_attention_recurrent,
    normalised_linear_attention as normalised_linear_attention,
)
from attnlib.nn.linear_gates import (
    gated_linear_attention as gated_linear_attention,
    gated_linear_attention_chunked as gated_linear_attention_chunked,
)
from attnlib.nn.long_convolution import (
    causal_convolution as causal_convolution,
)
from attnlib.nn.losses import (
    cross_entropy as cross_entropy,
    sequence_loss as sequence_loss,
    smoothed_cross_entropy as smoothed_cross_entropy,
    smoothed_over_all as smoothed_over_all,
    smoothed_over_others as smoothed_over_others,
    soft_cross_entropy as soft_cross_entropy,
    z_loss as z_loss,
)
from attnlib.nn.low_rank import (
    best_low_rank as best_low_rank,
    low_rank_attention as low_rank_attention,
    random_projection as random_projection,
)
from attnlib.nn.masks import (
    additive_from_mask as additive_from_mask,
    causal_mask as causal_mask,
    combine_masks as combine_masks,
    mask_from_additive as mask_from_additive,
    mask_from_torch_attention as mask_from_torch_attention,
    mask_from_torch_padding as mask_from_torch_padding,
    padding_mask as padding_mask,
    prefix_mask as prefix_mask,
    rows_without_a_key as rows_without_a_key,
    window_mask as window_mask,
)
from attnlib.nn.monotonic import (
    hard_monotonic_alignment as hard_monotonic_alignment,
    monotonic_alignment as monotonic_alignment,
    monotonic_scan as monotonic_scan,
    sample_monotonic_alignment as sample_monotonic_alignment,
)
from attnlib.nn.multihead import Inputs as Inputs, MultiHeadAttention as MultiHeadAttention
from attnlib.nn.norm import batch_norm as batch_norm, layer_norm as layer_norm, rms_norm as rms_norm
from attnlib.nn.ops import (
    entropy as entropy,
    length as length,
    linear as linear,
    log_softmax as log_softmax,
    log_sum_exp as log_sum_exp,
    masked_softmax as masked_softmax,
    softmax as softmax,
    softmax_with_temperature as softmax_with_temperature,
    unit as unit,
)
from attnlib.nn.packed import OneProduct as OneProduct
from attnlib.nn.patterns import (
    block_table as block_table,
    dense_mask as dense_mask,
    documents as documents,
    flex_mask as flex_mask,
    pattern_attention as pattern_attention,
    random_blocks as random_blocks,
)
from attnlib.nn.positional import (
    IndexPositions as IndexPositions,
    LearnedPositions as LearnedPositions,
    NoPositions as NoPositions,
    NormalisedIndexPositions as NormalisedIndexPositions,
    PartlyRotary as PartlyRotary,
    Rotary as Rotary,
    SinusoidalPositions as SinusoidalPositions,
    angles as angles,
    index as index,
    normalised_index as normalised_index,
    rotary as rotary,
    rotary_halves as rotary_halves,
    sinusoids as sinusoids,
    wavelengths as wavelengths,
)
from attnlib.nn.random_features import (
    causal_random_feature_attention as causal_random_feature_attention,
    iid_directions as iid_directions,
    orthogonal_directions as orthogonal_directions,
    positive_features as positive_features,
    random_feature_attention as random_feature_attention,
)
from attnlib.nn.recurrent import (
    gru_cell as gru_cell,
    jacobian_through_time as jacobian_through_time,
    lstm_cell as lstm_cell,
    orthogonal as orthogonal,
    parameters_of as parameters_of,
    rnn_cell as rnn_cell,
    rnn_jacobian as rnn_jacobian,
    unroll as unroll,
)
from attnlib.nn.relative import (
    Alibi as Alibi,
    OffsetBias as OffsetBias,
    alibi as alibi,
    alibi_slopes as alibi_slopes,
    clipped as clipped,
    distances as distances,
    offset_bias as offset_bias,
    shaw_scores as shaw_scores,
    t5_buckets as t5_buckets,
)
from attnlib.nn.ring_cache import RingCache as RingCache
from attnlib.nn.s4 import (
    dplr_kernel as dplr_kernel,
    dplr_recurrence as dplr_recurrence,
)
from attnlib.nn.s4d import (
    DiagonalStateSpace as DiagonalStateSpace,
    diagonal_bilinear as diagonal_bilinear,
    diagonal_kernel as diagonal_kernel,
    diagonal_recurrence as diagonal_recurrence,
    diagonal_zero_order_hold as diagonal_zero_order_hold,
)
from attnlib.nn.sampling import (
    keep_min_p as keep_min_p,
    keep_nucleus as keep_nucleus,
    keep_top_k as keep_top_k,
    sample as sample,
)
from attnlib.nn.scores import (
    AdditiveScore as AdditiveScore,
    LocationScore as LocationScore,
    MultiplicativeScore as MultiplicativeScore,
    additive_scores as additive_scores,
    cosine_scores as cosine_scores,
    dot_scores as dot_scores,
    location_scores as location_scores,
    multiplicative_scores as multiplicative_scores,
    scaled_dot_scores as scaled_dot_scores,
)
from attnlib.nn.selective_scan import (
    SelectiveScan as SelectiveScan,
    associative_scan as associative_scan,
    selective_scan_parallel as selective_scan_parallel,
)
from attnlib.nn.sparse import (
    local_attention as local_attention,
    local_mask as local_mask,
    scores_computed as scores_computed,
    top_k_attention as top_k_attention,
    top_k_mask as top_k_mask,
)
from attnlib.nn.state_cache import StateCache as StateCache
from attnlib.nn.state_space import (
    StateSpace as StateSpace,
    bilinear as bilinear,
    state_space_kernel as state_space_kernel,
    state_space_recurrence as state_space_recurrence,
    zero_order_hold as zero_order_hold,
)
from attnlib.nn.tiles import Tiles as Tiles, block_mask as block_mask
from attnlib.nn.transformer import (
    Block as Block,
    FeedForward as FeedForward,
    Given as Given,
    dropout_of as dropout_of,
    post_norm as post_norm,
    pre_norm as pre_norm,
    without_residual as without_residual,
)
