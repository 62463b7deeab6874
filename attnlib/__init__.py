"""attnlib: the code of the course *Attention, Executed*.

One rule: same file name, same function name. `attnlib.reference` has the equations in NumPy, each forward beside its
hand-derived backward; `attnlib.nn` has the same functions in PyTorch, for use.

    chapter                 where its code lives
    1  Foundations          reference.ops  .scores  .attention  .kernel  .hard  .monotonic  .sparse  .recurrent
                            nn.*           the twins; nn.debug looks for NaN
                            models.seq2seq, train.fit, train.translation, data, metrics.alignment
    2  Self-attention       reference.layers  .masks, and their twins in nn
                            models.stack, train.toy, data.anomaly  .recall, interpret.distance  .patterns  .capture
    3  Multi-head           reference.heads  .projections  .multihead  .grouped  .gates, and nn.multihead  .cache
                            data.offsets  .agreement, interpret.importance
    4  The Transformer      reference.norm  .activations  .glu  .convolution  .positional  .transformer  .block  .depth
                            reference.decoder_block  .embedding  .sampling, and their twins in nn
                            models.config  .parts  .gpt  .encoder_decoder  .pretrained  .published, data.bpe  .pairs
                            decode, beam, speculative; js: the course's own model in a page
    5  Training             reference.losses  .drop, and their twins in nn
                            reference.optim  .matrix_optim  .schedules  .gpt
                            train.fit  .training  .callbacks  .held_out  .state  .checkpoint  .rows  .optim
                            train.pretraining, generate; data.distant  .clouds, metrics.surprise  .calibration
                            train.parallel  .workers  .worker_group  .traffic  .shards  .elastic
                            reference.all_reduce  .pipeline
                            models.parallel_costs
    6  Efficient attention  reference.patterns  .tiles  .graph  .linear_attention  .linear_gates  .delta_rule
                            reference.indexer  .hippo  .state_space  .s4d  .s4  .selective_scan  .long_convolution
                            reference.random_features  .low_rank, and their twins in nn, but for the graph and hippo
                            nn.state_cache  .ring_cache, models.parts: a mixer for each layer, models.mixer_costs

The exercises of each chapter are in `attnlib.exercises`, in a folder of its name.

Importing this package loads neither NumPy nor torch; import the module that you need.
"""

import os

__version__ = "0.1.0"

if os.environ.get("ATTNLIB_NUDGE"):  # `make nudge`: do results hold if trainings start a millionth away?
    from attnlib.train.nudge import switch_on

    switch_on()
