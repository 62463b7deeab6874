"""Same file name, same name in both twins: every exception is listed here with its reason."""

import importlib
import inspect
import pkgutil
import re

import attnlib.reference

READING = "another way to write it, for reading"
INSIDE = "a step inside MultiHeadAttention, where each map is a module of its own"
AUTOGRAD = "the derivative itself; autograd has it"
LOOP = "train.training has the state and the step"
PARAMETERS = "a module of PyTorch knows its parameters, and draws the first ones"
SCHEDULE = "a function of a number; torch.optim.lr_scheduler.LambdaLR takes it as it is"
TORCH_OPTIM = "torch.optim has it, with its state; train.optim says what decays"
MANY = "workers that are simulated; torch.distributed has the real ones, and train.parallel uses them"
DTYPE = "torch.finfo, and a tensor of the dtype"
SCALER = "torch.amp.GradScaler"
WITHOUT_A_TWIN = {
    "all_reduce.all_gather": MANY,
    "all_reduce.pieces": MANY,
    "all_reduce.reduce_scatter": MANY,
    "all_reduce.ring_all_reduce": MANY,
    "all_reduce.weighted_mean": MANY,
    "attention.attention_by_loops": READING,
    "glu.swiglu_feed_forward": "the module FeedForward with gated=True",
    "block.block_stack": "torch.nn.Sequential of Blocks",
    "block.post_norm_block": "the module transformer.Block",
    "block.pre_norm_block": "the module transformer.Block",
    "decoder_block.decoder_stack": "the loop over blocks in models.encoder_decoder: they share a memory",
    "decoder_block.post_norm_decoder_block": "the module decoder_block.DecoderBlock",
    "decoder_block.pre_norm_decoder_block": "the module decoder_block.DecoderBlock",
    "floats.bits": DTYPE,
    "floats.largest": DTYPE,
    "floats.largest_power": DTYPE,
    "floats.smallest": DTYPE,
    "floats.smallest_normal": DTYPE,
    "floats.spacing": DTYPE,
    "floats.stored": DTYPE,
    "gates.gated_multi_head_attention": "the context manager nn.gates.gated_heads does it to a module",
    "gpt.all_arrays": PARAMETERS,
    "gpt.first_parameters": PARAMETERS,
    "gpt.language_model": "the model models.gpt.GPT",
    "gpt.new_train_state": LOOP,
    "gpt.next_token_loss": "a loss for train.fit",
    "gpt.train_step": LOOP,
    "gpt.with_arrays": PARAMETERS,
    "loss_scale.next_scale": SCALER,
    "loss_scale.scaled": SCALER,
    "loss_scale.unscaled": SCALER,
    "matrix_optim.adafactor": TORCH_OPTIM,
    "matrix_optim.adafactor_state": TORCH_OPTIM,
    "matrix_optim.muon": TORCH_OPTIM,
    "matrix_optim.orthogonalised": TORCH_OPTIM,
    "multihead.grouped_query_attention": "MultiHeadAttention with n_kv_heads",
    "multihead.head_outputs": INSIDE,
    "multihead.multi_head_as_sum": "the method MultiHeadAttention.contributions",
    "multihead.multi_head_attention_by_loops": READING,
    "ops.softmax_jacobian": AUTOGRAD,
    "optim.adam": TORCH_OPTIM,
    "optim.adam_state": TORCH_OPTIM,
    "optim.adamw": TORCH_OPTIM,
    "optim.clipped_by_norm": TORCH_OPTIM,
    "optim.global_norm": TORCH_OPTIM,
    "optim.momentum": TORCH_OPTIM,
    "optim.sgd": TORCH_OPTIM,
    "optim.with_l2": TORCH_OPTIM,
    "pipeline.gpipe": MANY,
    "pipeline.bubble": MANY,
    "pipeline.kept": MANY,
    "pipeline.one_f_one_b": MANY,
    "pipeline.waiting": MANY,
    "positional.to_halves": "an order of coordinates; any tensor takes it as an index",
    "positional.to_neighbours": "an order of coordinates; any tensor takes it as an index",
    "projections.combine": INSIDE,
    "projections.project": INSIDE,
    "ring_attention.join_tile": MANY,
    "ring_attention.attention_on_a_ring": MANY,
    "schedules.constant": SCHEDULE,
    "schedules.cosine": SCHEDULE,
    "schedules.inverse_square_root": SCHEDULE,
    "schedules.linear": SCHEDULE,
    "schedules.vaswani_2017": SCHEDULE,
    "schedules.warmup_stable_decay": SCHEDULE,
}


def own(package, name, kind):
    """What a file defines itself, without what begins with an underscore."""
    try:
        module = importlib.import_module(f"{package}.{name}")
    except ModuleNotFoundError:
        return set()
    return {
        one
        for one, f in vars(module).items()
        if kind(f) and f.__module__ == module.__name__ and one[0] != "_"
    }


def functions_of(package, name):
    functions = own(package, name, inspect.isfunction)
    return {f"{name}.{one}" for one in functions if not one.endswith("_backward")}


def modules_of(package, name):
    """A module holds the parameters that the function takes: `MultiHeadAttention` is `multi_head_attention`."""
    modules = own(package, name, inspect.isclass)
    return {f"{name}.{re.sub('(?<!^)(?=[A-Z])', '_', one).lower()}" for one in modules}


def test_every_forward_of_the_reference_has_its_twin_or_a_reason():
    names = [module.name for module in pkgutil.iter_modules(attnlib.reference.__path__)]
    mine = set().union(*(functions_of("attnlib.reference", name) for name in names))
    functions = set().union(*(functions_of("attnlib.nn", name) for name in names))
    modules = set().union(*(modules_of("attnlib.nn", name) for name in names))
    assert mine - functions - modules == set(WITHOUT_A_TWIN)
