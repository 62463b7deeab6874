"""The equations in NumPy: each forward beside its hand-derived backward.

    ops         linear maps, lengths, softmax and its relatives
    scores      how well a query fits a key: dot, scaled, multiplicative, additive, cosine, location
    attention   normalise the scores, average the values; the layer with its three projections
    kernel      the same average seen as kernel regression
    hard        one key is drawn instead of averaged        monotonic   alignments that only move forward
    sparse      few keys are kept                           recurrent   the cells that came before
    masks       who may look where                          layers      self-attention and cross-attention
    heads       a width cut into heads, and joined again    projections the linear maps into and out of the heads
    multihead   several attentions side by side             grouped     heads that share keys and values
    gates       a factor on each head, and its slope     norm        vectors of one size, between layers
    activations the bends of a feed-forward network      glu         gates in it
    convolution a look at the neighbours in it           transformer the network, and residual connections
    block       attention and network, each with norm and residual; stacks
    decoder_block   the same, with the memory of a source between them
    depth       sublayers that are left out in training  embedding   from tokens to vectors and back to scores
    positional  where a token stands                     sampling    which token comes next
    losses      what a training makes small              optim       how a parameter follows its gradient
    matrix_optim    the same for matrices                schedules   how fast, at each step
    drop        numbers that are left out in training    gpt         a language model, and its training
    all_reduce  a sum for all workers on a ring          pipeline    layers on several workers, tick by tick
    ring_attention  a text on several workers
    floats      what is stored of a number in few bits   loss_scale  gradients that would be too small for them

`attnlib.nn` has the same functions in PyTorch. Nothing here imports torch.
"""
