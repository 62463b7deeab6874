"""The names that `attnlib.reference` exports, each where it is defined; a name of two files is the first one's.

A function with its file's name is imported from the file, because the package has the file under that name."""

from attnlib.reference.activations import (
    gelu as gelu,
    gelu_backward as gelu_backward,
    gelu_tanh as gelu_tanh,
    gelu_tanh_backward as gelu_tanh_backward,
    relu as relu,
    relu_backward as relu_backward,
    sigmoid as sigmoid,
    sigmoid_backward as sigmoid_backward,
    swish as swish,
    swish_backward as swish_backward,
)
from attnlib.reference.all_reduce import (
    all_gather as all_gather,
    pieces as pieces,
    reduce_scatter as reduce_scatter,
    ring_all_reduce as ring_all_reduce,
    weighted_mean as weighted_mean,
)
from attnlib.reference.attention import (
    AttendCache as AttendCache,
    AttentionCache as AttentionCache,
    AttentionParameters as AttentionParameters,
    LayerCache as LayerCache,
    attend as attend,
    attend_backward as attend_backward,
    attention_by_loops as attention_by_loops,
    attention_layer as attention_layer,
    attention_layer_backward as attention_layer_backward,
    scaled_dot_product_attention as scaled_dot_product_attention,
    scaled_dot_product_attention_backward as scaled_dot_product_attention_backward,
)
from attnlib.reference.block import (
    BlockCache as BlockCache,
    BlockParameters as BlockParameters,
    block_stack as block_stack,
    block_stack_backward as block_stack_backward,
    post_norm_block as post_norm_block,
    post_norm_block_backward as post_norm_block_backward,
    pre_norm_block as pre_norm_block,
    pre_norm_block_backward as pre_norm_block_backward,
)
from attnlib.reference.convolution import (
    ConvolutionCache as ConvolutionCache,
    ConvolvedCache as ConvolvedCache,
    ConvolvedParameters as ConvolvedParameters,
    ShortCache as ShortCache,
    convolved_feed_forward as convolved_feed_forward,
    convolved_feed_forward_backward as convolved_feed_forward_backward,
    depthwise_convolution as depthwise_convolution,
    depthwise_convolution_backward as depthwise_convolution_backward,
    short_convolution as short_convolution,
    short_convolution_backward as short_convolution_backward,
)
from attnlib.reference.decoder_block import (
    DecoderBlockCache as DecoderBlockCache,
    DecoderBlockParameters as DecoderBlockParameters,
    decoder_stack as decoder_stack,
    decoder_stack_backward as decoder_stack_backward,
    post_norm_decoder_block as post_norm_decoder_block,
    post_norm_decoder_block_backward as post_norm_decoder_block_backward,
    pre_norm_decoder_block as pre_norm_decoder_block,
    pre_norm_decoder_block_backward as pre_norm_decoder_block_backward,
)
from attnlib.reference.delta_rule import (
    delta_rule_backward as delta_rule_backward,
    delta_rule_chunked as delta_rule_chunked,
)
from attnlib.reference.depth import (
    stochastic_depth as stochastic_depth,
    stochastic_depth_backward as stochastic_depth_backward,
)
from attnlib.reference.drop import (
    DroppedAttentionCache as DroppedAttentionCache,
    dropout as dropout,
    dropout_backward as dropout_backward,
    dropped_attention as dropped_attention,
    dropped_attention_backward as dropped_attention_backward,
)
from attnlib.reference.embedding import (
    EmbeddingCache as EmbeddingCache,
    TiedCache as TiedCache,
    embed as embed,
    embed_backward as embed_backward,
    scaled_embed as scaled_embed,
    scaled_embed_backward as scaled_embed_backward,
    tied_scores as tied_scores,
    tied_scores_backward as tied_scores_backward,
)
from attnlib.reference.flash import (
    FlashCache as FlashCache,
    flash_attention as flash_attention,
    flash_attention_backward as flash_attention_backward,
)
from attnlib.reference.floats import (
    FloatFormat as FloatFormat,
    bits as bits,
    largest as largest,
    largest_power as largest_power,
    smallest as smallest,
    smallest_normal as smallest_normal,
    spacing as spacing,
    stored as stored,
)
from attnlib.reference.gates import (
    GateCache as GateCache,
    GatedCache as GatedCache,
    gate_heads as gate_heads,
    gate_heads_backward as gate_heads_backward,
    gated_multi_head_attention as gated_multi_head_attention,
    gated_multi_head_attention_backward as gated_multi_head_attention_backward,
)
from attnlib.reference.glu import (
    GatedParameters as GatedParameters,
    geglu as geglu,
    geglu_backward as geglu_backward,
    glu_backward as glu_backward,
    reglu as reglu,
    reglu_backward as reglu_backward,
    swiglu as swiglu,
    swiglu_backward as swiglu_backward,
    swiglu_feed_forward as swiglu_feed_forward,
    swiglu_feed_forward_backward as swiglu_feed_forward_backward,
)
from attnlib.reference.gpt import (
    GPTCache as GPTCache,
    GPTParameters as GPTParameters,
    TrainState as TrainState,
    all_arrays as all_arrays,
    first_parameters as first_parameters,
    language_model as language_model,
    language_model_backward as language_model_backward,
    new_train_state as new_train_state,
    next_token_loss as next_token_loss,
    train_step as train_step,
    with_arrays as with_arrays,
)
from attnlib.reference.graph import (
    diameter as diameter,
    distance as distance,
    edges as edges,
    reach as reach,
)
from attnlib.reference.grouped import (
    repeat_heads as repeat_heads,
    repeat_heads_backward as repeat_heads_backward,
)
from attnlib.reference.hard import (
    StraightThroughCache as StraightThroughCache,
    expected_reward as expected_reward,
    expected_reward_gradient as expected_reward_gradient,
    hard_attention as hard_attention,
    hard_attention_backward as hard_attention_backward,
    one_hot as one_hot,
    optimal_baseline as optimal_baseline,
    reinforce_gradient as reinforce_gradient,
    reinforce_variance as reinforce_variance,
    sample_hard as sample_hard,
    score_lengths as score_lengths,
    straight_through_attention as straight_through_attention,
    straight_through_attention_backward as straight_through_attention_backward,
)
from attnlib.reference.heads import (
    mask_for_heads as mask_for_heads,
    merge_heads as merge_heads,
    split_heads as split_heads,
)
from attnlib.reference.hierarchical import (
    coarse_to_fine_attention as coarse_to_fine_attention,
    coarse_to_fine_attention_backward as coarse_to_fine_attention_backward,
    far_chunks as far_chunks,
    level_edges as level_edges,
    near_tokens as near_tokens,
    pool_chunks as pool_chunks,
    pool_chunks_backward as pool_chunks_backward,
    PoolCache as PoolCache,
    score_bounds as score_bounds,
    two_level_attention as two_level_attention,
    two_level_attention_backward as two_level_attention_backward,
    two_level_edges as two_level_edges,
    TwoLevelCache as TwoLevelCache,
)
from attnlib.reference.hippo import (
    DPLR as DPLR,
    hippo_dplr as hippo_dplr,
    hippo_legs as hippo_legs,
    legendre as legendre,
    s4d_inv as s4d_inv,
    s4d_lin as s4d_lin,
    s4d_real as s4d_real,
)
from attnlib.reference.indexer import (
    IndexLossCache as IndexLossCache,
    IndexScoreCache as IndexScoreCache,
    IndexerCache as IndexerCache,
    IndexerParameters as IndexerParameters,
    index_loss as index_loss,
    index_loss_backward as index_loss_backward,
    index_mask as index_mask,
    index_scores as index_scores,
    index_scores_backward as index_scores_backward,
    kept_mass as kept_mass,
    lightning_indexer as lightning_indexer,
    lightning_indexer_backward as lightning_indexer_backward,
)
from attnlib.reference.kernel import (
    exponential_kernel as exponential_kernel,
    exponential_kernel_backward as exponential_kernel_backward,
    gaussian_kernel as gaussian_kernel,
    gaussian_kernel_backward as gaussian_kernel_backward,
    kernel_regression as kernel_regression,
    kernel_regression_backward as kernel_regression_backward,
)
from attnlib.reference.latent import (
    LatentCache as LatentCache,
    LatentParameters as LatentParameters,
    LatentsCache as LatentsCache,
    latent_attention as latent_attention,
    latent_attention_absorbed as latent_attention_absorbed,
    latent_attention_backward as latent_attention_backward,
    latents as latents,
    latents_backward as latents_backward,
)
from attnlib.reference.layers import (
    cross_attention as cross_attention,
    cross_attention_backward as cross_attention_backward,
    self_attention as self_attention,
    self_attention_backward as self_attention_backward,
)
from attnlib.reference.linear_attention import (
    LinearAttentionCache as LinearAttentionCache,
    NormalisedLinearAttentionCache as NormalisedLinearAttentionCache,
    decay_products as decay_products,
    decay_products_backward as decay_products_backward,
    elu_plus_one as elu_plus_one,
    elu_plus_one_backward as elu_plus_one_backward,
    linear_attention_backward as linear_attention_backward,
    linear_attention_chunked as linear_attention_chunked,
    linear_attention_recurrent as linear_attention_recurrent,
    normalised_linear_attention as normalised_linear_attention,
    normalised_linear_attention_backward as normalised_linear_attention_backward,
)
from attnlib.reference.linear_gates import (
    gated_linear_attention as gated_linear_attention,
    gated_linear_attention_chunked as gated_linear_attention_chunked,
)
from attnlib.reference.long_convolution import (
    causal_convolution as causal_convolution,
    causal_convolution_backward as causal_convolution_backward,
)
from attnlib.reference.loss_scale import (
    LossScale as LossScale,
    next_scale as next_scale,
    scaled as scaled,
    unscaled as unscaled,
)
from attnlib.reference.losses import (
    CrossEntropyCache as CrossEntropyCache,
    SequenceLossCache as SequenceLossCache,
    SoftCrossEntropyCache as SoftCrossEntropyCache,
    ZLossCache as ZLossCache,
    cross_entropy as cross_entropy,
    cross_entropy_backward as cross_entropy_backward,
    sequence_loss as sequence_loss,
    sequence_loss_backward as sequence_loss_backward,
    smoothed_cross_entropy as smoothed_cross_entropy,
    smoothed_cross_entropy_backward as smoothed_cross_entropy_backward,
    smoothed_over_all as smoothed_over_all,
    smoothed_over_others as smoothed_over_others,
    soft_cross_entropy as soft_cross_entropy,
    soft_cross_entropy_backward as soft_cross_entropy_backward,
    z_loss as z_loss,
    z_loss_backward as z_loss_backward,
)
from attnlib.reference.low_rank import (
    LowRankCache as LowRankCache,
    best_low_rank as best_low_rank,
    low_rank_attention as low_rank_attention,
    low_rank_attention_backward as low_rank_attention_backward,
    random_projection as random_projection,
)
from attnlib.reference.masks import (
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
from attnlib.reference.matrix_optim import (
    AdafactorState as AdafactorState,
    adafactor as adafactor,
    adafactor_state as adafactor_state,
    muon as muon,
    orthogonalised as orthogonalised,
)
from attnlib.reference.monotonic import (
    hard_monotonic_alignment as hard_monotonic_alignment,
    monotonic_alignment as monotonic_alignment,
    monotonic_alignment_backward as monotonic_alignment_backward,
    monotonic_scan as monotonic_scan,
    sample_monotonic_alignment as sample_monotonic_alignment,
)
from attnlib.reference.multihead import (
    MultiHeadCache as MultiHeadCache,
    SumCache as SumCache,
    grouped_query_attention as grouped_query_attention,
    grouped_query_attention_backward as grouped_query_attention_backward,
    head_outputs as head_outputs,
    head_outputs_backward as head_outputs_backward,
    multi_head_as_sum as multi_head_as_sum,
    multi_head_as_sum_backward as multi_head_as_sum_backward,
    multi_head_attention as multi_head_attention,
    multi_head_attention_backward as multi_head_attention_backward,
    multi_head_attention_by_loops as multi_head_attention_by_loops,
)
from attnlib.reference.norm import (
    BatchNormCache as BatchNormCache,
    NormCache as NormCache,
    batch_norm as batch_norm,
    batch_norm_backward as batch_norm_backward,
    layer_norm as layer_norm,
    layer_norm_backward as layer_norm_backward,
    rms_norm as rms_norm,
    rms_norm_backward as rms_norm_backward,
)
from attnlib.reference.ops import (
    LinearCache as LinearCache,
    entropy as entropy,
    entropy_backward as entropy_backward,
    length as length,
    length_backward as length_backward,
    linear as linear,
    linear_backward as linear_backward,
    log_softmax as log_softmax,
    log_softmax_backward as log_softmax_backward,
    log_sum_exp as log_sum_exp,
    log_sum_exp_backward as log_sum_exp_backward,
    masked_softmax as masked_softmax,
    masked_softmax_backward as masked_softmax_backward,
    softmax as softmax,
    softmax_backward as softmax_backward,
    softmax_jacobian as softmax_jacobian,
    softmax_with_temperature as softmax_with_temperature,
    softmax_with_temperature_backward as softmax_with_temperature_backward,
    unit as unit,
    unit_backward as unit_backward,
)
from attnlib.reference.optim import (
    AdamSettings as AdamSettings,
    AdamState as AdamState,
    adam as adam,
    adam_state as adam_state,
    adamw as adamw,
    clipped_by_norm as clipped_by_norm,
    global_norm as global_norm,
    momentum as momentum,
    sgd as sgd,
    with_l2 as with_l2,
)
from attnlib.reference.patterns import (
    block_table as block_table,
    blocks as blocks,
    both as both,
    causal as causal,
    dense_mask as dense_mask,
    dilated as dilated,
    documents as documents,
    either as either,
    first as first,
    global_tokens as global_tokens,
    random_blocks as random_blocks,
    strided as strided,
    strided_local as strided_local,
    strided_summary as strided_summary,
    window as window,
)
from attnlib.reference.pipeline import (
    bubble as bubble,
    gpipe as gpipe,
    kept as kept,
    one_f_one_b as one_f_one_b,
    waiting as waiting,
)
from attnlib.reference.positional import (
    angles as angles,
    index as index,
    normalised_index as normalised_index,
    rotary as rotary,
    rotary_backward as rotary_backward,
    rotary_halves as rotary_halves,
    rotary_halves_backward as rotary_halves_backward,
    sinusoids as sinusoids,
    to_halves as to_halves,
    to_neighbours as to_neighbours,
    wavelengths as wavelengths,
)
from attnlib.reference.projections import (
    MultiHeadParameters as MultiHeadParameters,
    combine as combine,
    combine_backward as combine_backward,
    project as project,
    project_backward as project_backward,
)
from attnlib.reference.random_features import (
    CausalRandomFeatureCache as CausalRandomFeatureCache,
    FeaturesCache as FeaturesCache,
    RandomFeatureCache as RandomFeatureCache,
    causal_random_feature_attention as causal_random_feature_attention,
    causal_random_feature_attention_backward as causal_random_feature_attention_backward,
    iid_directions as iid_directions,
    orthogonal_directions as orthogonal_directions,
    orthogonal_relative_variance as orthogonal_relative_variance,
    positive_features as positive_features,
    positive_features_backward as positive_features_backward,
    random_feature_attention as random_feature_attention,
    random_feature_attention_backward as random_feature_attention_backward,
    relative_variance as relative_variance,
)
from attnlib.reference.recurrent import (
    GRUCache as GRUCache,
    GRUParameters as GRUParameters,
    LSTMCache as LSTMCache,
    LSTMParameters as LSTMParameters,
    LSTMState as LSTMState,
    RNNCache as RNNCache,
    RNNParameters as RNNParameters,
    gru_cell as gru_cell,
    gru_cell_backward as gru_cell_backward,
    jacobian_through_time as jacobian_through_time,
    lstm_cell as lstm_cell,
    lstm_cell_backward as lstm_cell_backward,
    orthogonal as orthogonal,
    rnn_cell as rnn_cell,
    rnn_cell_backward as rnn_cell_backward,
    rnn_jacobian as rnn_jacobian,
    unroll as unroll,
    unroll_backward as unroll_backward,
)
from attnlib.reference.relative import (
    OffsetCache as OffsetCache,
    ShawCache as ShawCache,
    alibi as alibi,
    alibi_slopes as alibi_slopes,
    clipped as clipped,
    distances as distances,
    offset_bias as offset_bias,
    offset_bias_backward as offset_bias_backward,
    shaw_scores as shaw_scores,
    shaw_scores_backward as shaw_scores_backward,
    t5_buckets as t5_buckets,
)
from attnlib.reference.ring_attention import (
    Joined as Joined,
    attention_on_a_ring as attention_on_a_ring,
    join_tile as join_tile,
)
from attnlib.reference.s4 import (
    dplr_kernel as dplr_kernel,
    dplr_recurrence as dplr_recurrence,
)
from attnlib.reference.s4d import (
    diagonal_bilinear as diagonal_bilinear,
    diagonal_kernel as diagonal_kernel,
    diagonal_recurrence as diagonal_recurrence,
    diagonal_recurrence_backward as diagonal_recurrence_backward,
    diagonal_zero_order_hold as diagonal_zero_order_hold,
)
from attnlib.reference.sampling import (
    keep_min_p as keep_min_p,
    keep_nucleus as keep_nucleus,
    keep_top_k as keep_top_k,
    sample as sample,
)
from attnlib.reference.schedules import (
    constant as constant,
    cosine as cosine,
    inverse_square_root as inverse_square_root,
    vaswani_2017 as vaswani_2017,
    warmup_stable_decay as warmup_stable_decay,
)
from attnlib.reference.scores import (
    AdditiveCache as AdditiveCache,
    DotCache as DotCache,
    LocationCache as LocationCache,
    MultiplicativeCache as MultiplicativeCache,
    additive_scores as additive_scores,
    additive_scores_backward as additive_scores_backward,
    cosine_scores as cosine_scores,
    cosine_scores_backward as cosine_scores_backward,
    dot_scores as dot_scores,
    dot_scores_backward as dot_scores_backward,
    location_scores as location_scores,
    location_scores_backward as location_scores_backward,
    multiplicative_scores as multiplicative_scores,
    multiplicative_scores_backward as multiplicative_scores_backward,
    scaled_dot_scores as scaled_dot_scores,
    scaled_dot_scores_backward as scaled_dot_scores_backward,
)
from attnlib.reference.selective_scan import (
    associative_scan as associative_scan,
    selective_scan_backward as selective_scan_backward,
    selective_scan_parallel as selective_scan_parallel,
)
from attnlib.reference.sharded_optim import (
    ShardedStep as ShardedStep,
    share_of as share_of,
    sharded_adam as sharded_adam,
    sharded_adam_state as sharded_adam_state,
)
from attnlib.reference.sparse import (
    LocalCache as LocalCache,
    local_attention as local_attention,
    local_attention_backward as local_attention_backward,
    local_mask as local_mask,
    scores_computed as scores_computed,
    top_k_attention as top_k_attention,
    top_k_attention_backward as top_k_attention_backward,
    top_k_mask as top_k_mask,
)
from attnlib.reference.state_space import (
    bilinear as bilinear,
    state_space_kernel as state_space_kernel,
    state_space_recurrence as state_space_recurrence,
    zero_order_hold as zero_order_hold,
)
from attnlib.reference.tiles import Tiles as Tiles, block_mask as block_mask
from attnlib.reference.transformer import (
    FeedForwardCache as FeedForwardCache,
    FeedForwardParameters as FeedForwardParameters,
    NormParameters as NormParameters,
    ResidualCache as ResidualCache,
    feed_forward as feed_forward,
    feed_forward_backward as feed_forward_backward,
    post_norm as post_norm,
    post_norm_backward as post_norm_backward,
    pre_norm as pre_norm,
    pre_norm_backward as pre_norm_backward,
)
