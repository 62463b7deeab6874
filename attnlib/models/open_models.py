"""Open models as their publishers describe them: what a config.json says, and the parameters that follow from it.

Book: Chapter 4, the page on the block of today. The names of the fields are those of Hugging Face's files. Fields that
change no count of parameters are kept where the page reads them. `tests/test_open_models.py` compares each count with
Hugging Face's own class of the same config.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from attnlib.models.block_counts import BlockChoices, kept, multiplications, parameters, used

Config = Mapping[str, Any]

CONFIGS: dict[str, Config] = {
    "GPT-2": {
        "model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024, "vocab_size": 50257,
    },
    "Llama 3.1 8B": {
        "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "tie_word_embeddings": False,
        "rope_theta": 500000.0,
    },
    "Mistral 7B v0.3": {
        "model_type": "mistral", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32768, "tie_word_embeddings": False,
        "rope_theta": 1000000.0,
    },
    "Phi-3 mini": {
        "model_type": "phi3", "hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 32064, "tie_word_embeddings": False,
        "rope_theta": 10000.0,
    },
    "Gemma 2 2B": {
        "model_type": "gemma2", "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26,
        "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, "vocab_size": 256000,
        "tie_word_embeddings": True, "rope_theta": 10000.0,
    },
    "Gemma 3 1B": {
        "model_type": "gemma3_text", "hidden_size": 1152, "intermediate_size": 6912, "num_hidden_layers": 26,
        "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 256, "vocab_size": 262144,
        "tie_word_embeddings": True, "rope_theta": 1000000, "sliding_window": 512,
    },
    "OLMo 2 7B": {
        "model_type": "olmo2", "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 100352, "tie_word_embeddings": False,
        "rope_theta": 500000,
    },
    "SmolLM3 3B": {
        "model_type": "smollm3", "hidden_size": 2048, "intermediate_size": 11008, "num_hidden_layers": 36,
        "num_attention_heads": 16, "num_key_value_heads": 4, "vocab_size": 128256, "tie_word_embeddings": True,
        "no_rope_layer_interval": 4,
    },
    "Qwen3 0.6B": {
        "model_type": "qwen3", "hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28,
        "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936,
        "tie_word_embeddings": True, "rope_theta": 1000000,
    },
    "Qwen3 8B": {
        "model_type": "qwen3", "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36,
        "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936,
        "tie_word_embeddings": False, "rope_theta": 1000000, "rms_norm_eps": 1e-06, "attention_bias": False,
        "hidden_act": "silu", "max_position_embeddings": 40960, "torch_dtype": "bfloat16",
    },
    "gpt-oss 20B": {
        "model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880, "num_hidden_layers": 24,
        "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 201088,
        "tie_word_embeddings": False, "attention_bias": True, "num_local_experts": 32, "num_experts_per_tok": 4,
        "sliding_window": 128, "rope_theta": 150000,
    },
    "GLM-4.7-Flash": {
        "model_type": "glm4_moe_lite", "hidden_size": 2048, "intermediate_size": 10240, "num_hidden_layers": 47,
        "num_attention_heads": 20, "num_key_value_heads": 20, "vocab_size": 154880, "tie_word_embeddings": False,
        "q_lora_rank": 768, "kv_lora_rank": 512, "qk_nope_head_dim": 192, "qk_rope_head_dim": 64, "v_head_dim": 256,
        "first_k_dense_replace": 1, "n_routed_experts": 64, "num_experts_per_tok": 4, "n_shared_experts": 1,
        "moe_intermediate_size": 1536, "rope_theta": 1000000,
    },
    "DeepSeek-V3": {
        "model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432, "num_hidden_layers": 61,
        "num_attention_heads": 128, "num_key_value_heads": 128, "vocab_size": 129280, "tie_word_embeddings": False,
        "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
        "first_k_dense_replace": 3, "n_routed_experts": 256, "num_experts_per_tok": 8, "n_shared_experts": 1,
        "moe_intermediate_size": 2048, "rope_theta": 10000,
    },
}  # fmt: skip

# What a kind of model does that its config.json does not say: it stands in the program that reads the file.
BY_KIND: dict[str, dict[str, Any]] = {
    "gpt2": {"gated": False, "shift": True, "bias": True},
    "gemma2": {"n_norms": 4},
    "gemma3_text": {"n_norms": 4, "qk_norm": "each head"},
    "olmo2": {"qk_norm": "all heads"},  # two norms, after the sublayers
    "qwen3": {"qk_norm": "each head"},
    "gpt_oss": {"sinks": True, "mlp_bias": True, "router_bias": True},
}


def choices(config: Config) -> list[BlockChoices]:
    """The choices of each block, from the first to the last.

    >>> choices(CONFIGS["Qwen3 8B"])[0].n_kv_heads
    8
    """
    return list(_blocks(config))


def _blocks(config: Config) -> Iterator[BlockChoices]:
    kind = config["model_type"]
    if kind == "gpt2":
        d, h = config["n_embd"], config["n_head"]
        sizes = {"d_model": d, "n_heads": h, "n_kv_heads": h, "d_k": d // h, "d_hidden": 4 * d}
        yield from [BlockChoices(**sizes, **BY_KIND[kind])] * config["n_layer"]
        return
    heads = config["num_attention_heads"]
    today = {
        "d_model": config["hidden_size"], "n_heads": heads, "n_kv_heads": config["num_key_value_heads"],
        "d_k": config.get("head_dim") or config["hidden_size"] // heads, "d_hidden": config["intermediate_size"],
        "gated": True, "shift": False, "bias": bool(config.get("attention_bias")), "mlp_bias": False,
        **BY_KIND.get(kind, {}), **_latent(config),
    }  # fmt: skip
    for layer in range(config["num_hidden_layers"]):
        yield BlockChoices(**{**today, **_experts(config, layer)})


def _latent(config: Config) -> dict[str, Any]:
    """The widths of latent keys and values."""
    if "kv_lora_rank" not in config:
        return {}
    return {
        "d_latent": config["kv_lora_rank"], "d_rotated": config["qk_rope_head_dim"], "d_k": config["qk_nope_head_dim"],
        "d_v": config["v_head_dim"], "d_query": config["q_lora_rank"],
    }  # fmt: skip


def _experts(config: Config, layer: int) -> dict[str, Any]:
    """The feed-forward networks of a layer, where there are several; the first layers may have one wide network."""
    n_experts = config.get("num_local_experts") or config.get("n_routed_experts")
    if not n_experts or layer < config.get("first_k_dense_replace", 0):
        return {}
    return {
        "n_experts": n_experts,
        "n_used": config["num_experts_per_tok"],
        "n_shared": config.get("n_shared_experts", 0),
        "d_hidden": config.get("moe_intermediate_size") or config["intermediate_size"],
    }


def count(config: Config) -> dict[str, int]:
    """How many parameters a model has, part by part.

    >>> sum(count(CONFIGS["GPT-2"]).values())
    124439808
    """
    blocks = choices(config)
    d = blocks[0].d_model
    table = config["vocab_size"] * d
    found = {"embedding": table, "positions": config.get("n_positions", 0) * d}
    for block in blocks:
        for name, number in parameters(block).items():
            found[name] = found.get(name, 0) + number
    found["norms"] += (2 if blocks[0].shift else 1) * d
    found["scores"] = 0 if config.get("tie_word_embeddings", True) else table
    return found


def active(config: Config) -> int:
    """Parameters that one token meets: the row of the embedding counts as none, the table of the scores as a whole."""
    blocks = choices(config)
    d = blocks[0].d_model
    return sum(map(used, blocks)) + (2 if blocks[0].shift else 1) * d + config["vocab_size"] * d


def kept_bytes(config: Config, bytes_each: int = 2) -> int:
    """Bytes that a cache keeps of each token in all layers; a layer with a window keeps no more of each.

    >>> kept_bytes(CONFIGS["Llama 3.1 8B"])
    131072
    """
    return bytes_each * sum(map(kept, choices(config)))


def multiplied(config: Config, n: int) -> int:
    """Multiply-adds for one new token that attends to n tokens in every layer."""
    blocks = choices(config)
    return sum(multiplications(block, n) for block in blocks) + config["vocab_size"] * blocks[0].d_model
