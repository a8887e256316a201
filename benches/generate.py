"""Time of `generate` with a cache of fixed size: the model itself, `passnet.compile`, and TorchInductor.

Models of transformers with random weights; the sides are called in turns. Run: `python benches/generate.py [--device cuda] [MODEL ...]`.
On a GPU, TorchInductor is what transformers itself uses there (`reduce-overhead`, for one token), and PassNet records CUDA graphs.
"""

from __future__ import annotations

import argparse
import copy
import json
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch
import transformers as library

import passnet

_SIZES: dict[str, Any] = {"hidden_size": 512, "num_hidden_layers": 8, "num_attention_heads": 8, "vocab_size": 8000}
_GATED = {**_SIZES, "intermediate_size": 1408, "num_key_value_heads": 4}
_SEQUENCES: dict[str, Any] = {"d_model": 384, "vocab_size": 8000}

MODELS: dict[str, Callable[[], Any]] = {
    "llama": lambda: library.LlamaForCausalLM(library.LlamaConfig(**_GATED)),
    "qwen2": lambda: library.Qwen2ForCausalLM(library.Qwen2Config(**_GATED)),
    "gpt2": lambda: library.GPT2LMHeadModel(library.GPT2Config(n_embd=512, n_layer=8, n_head=8, vocab_size=8000)),
    "gpt_neox": lambda: library.GPTNeoXForCausalLM(library.GPTNeoXConfig(**_SIZES, intermediate_size=2048)),
    "t5": lambda: library.T5ForConditionalGeneration(
        library.T5Config(**_SEQUENCES, d_kv=64, d_ff=1024, num_layers=6, num_heads=6, decoder_start_token_id=0)
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=[], help=f"of {', '.join(MODELS)}; default: all")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    for name in arguments.models or MODELS:
        print(json.dumps(measured(name, arguments)), flush=True)


def measured(name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Milliseconds per call of `generate`: the first call, and the median and best of the later ones."""
    torch.manual_seed(0)
    tokens, on_gpu = arguments.tokens, arguments.device == "cuda"
    model = MODELS[name]().eval().to(arguments.device, getattr(torch, arguments.dtype))
    inductor = copy.deepcopy(model)
    if not on_gpu:
        inductor.forward = torch.compile(inductor.forward)
    sides = {"eager": model, "passnet": passnet.compile(copy.deepcopy(model), cuda_graphs=on_gpu), "inductor": inductor}
    ids = torch.randint(3, 8000, (1, 32), device=arguments.device)
    options = {"max_new_tokens": tokens, "min_new_tokens": tokens, "do_sample": False, "pad_token_id": 0}

    def generate(side: Any) -> tuple[torch.Tensor, float]:
        started = time.perf_counter()
        result = side.generate(ids, cache_implementation="static", disable_compile=side is model, **options)
        if on_gpu:
            torch.cuda.synchronize()
        return result, (time.perf_counter() - started) * 1e3

    first = {side: generate(value) for side, value in sides.items()}
    times: dict[str, list[float]] = {side: [] for side in sides}
    for _ in range(arguments.rounds + 2):
        for side, value in sides.items():
            times[side].append(generate(value)[1])
    return {
        "model": name,
        "dtype": arguments.dtype,
        "same_tokens": {side: torch.equal(result, first["eager"][0]) for side, (result, _) in first.items()},
        "first_ms": {side: round(elapsed) for side, (_, elapsed) in first.items()},
        "median_ms": {side: round(statistics.median(values[2:]), 1) for side, values in times.items()},
        "best_ms": {side: round(min(values), 1) for side, values in times.items()},
        "kinds": [kind.cuda_graph for kind in sides["passnet"].report().specialisations],
        "left": sides["passnet"].report().as_dict()["eager"],
    }


if __name__ == "__main__":
    main()
