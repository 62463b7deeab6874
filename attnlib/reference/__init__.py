"""The equations in NumPy: each forward beside its hand-derived backward.

    ops         linear maps, lengths, softmax and its relatives
    scores      how well a query fits a key: dot, scaled, multiplicative, additive, cosine, location
    attention   normalise the scores, average the values; the layer with its three projections
    kernel      attention as kernel regression
    hard        one key is sampled instead of averaging     monotonic   alignments that only move forward
    sparse      few keys are kept                           recurrent   RNN, GRU and LSTM cells
    masks       which query may attend to which key         layers      self-attention and cross-attention
    heads       splitting a width into heads, and merging   projections the linear maps into and out of the heads
    multihead   several attentions side by side             grouped     heads that share keys and values
    latent      keys and values made from one latent of each token
    linear_attention    attention without softmax: a sum, a recurrence, and in chunks
    linear_gates    the same with a gate for each coordinate of the key
    delta_rule  a state that corrects what it holds for a key
    indexer     a cheap scorer that chooses the keys of an attention layer
    state_space a linear differential equation as a recurrence and as a convolution
    hippo       the matrix that remembers a signal       s4d, s4     diagonal, and diagonal plus rank one
    selective_scan  a state space whose step and maps depend on the token
    long_convolution    a convolution with a kernel as long as the text
    random_features  softmax attention estimated by random features
    low_rank    keys and values projected along the length
    gates       a gate on each head                      norm        layer norm, RMS norm, batch norm
    activations the activation functions                 glu         gated linear units
    convolution depthwise, in a feed-forward network     transformer feed-forward network, residual connection, norm
    block       attention and feed-forward network, each with its norm and residual connection; stacks
    decoder_block   the same with cross-attention to the encoder's output between them
    depth       stochastic depth                         embedding   from tokens to vectors, and back to scores
    positional  sinusoids and rotary positions           sampling    choosing the next token
    losses      cross-entropy and relatives              optim       SGD, momentum, Adam, clipping
    matrix_optim    Adafactor and Muon                   schedules   the learning rate of each step
    drop        dropout                                  gpt         a language model, and its training
    all_reduce  sums over workers on a ring              pipeline    schedules of pipeline parallelism
    ring_attention  attention over a text on several workers
    flash       attention in tiles, which keeps no weights
    sharded_optim   an optimiser whose state is split over workers
    floats      number formats                           loss_scale  loss scaling for float16

`attnlib.nn` has the same functions in PyTorch. Nothing here imports torch.

Each name can be imported from here, `from attnlib.reference import softmax`; its file is loaded then, and no other.
"""

from attnlib.lazy import exports

__getattr__, __dir__ = exports(__name__, __file__)
