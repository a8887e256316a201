"""Time of the first call of `passnet.compile` in a process whose caches a process before has filled, and where it goes.

    PYTHONPATH=python:benches python benches/cpu/second_process.py [--runs N] [--threads N] [--profile FILE] [MODEL...]

Each run is a process of its own; the first run of a model fills an empty cache. Prints one JSON object per line: medians of the seconds of
the whole first call (`total`), of the CPU time of all threads in it (`cpu`), and of its steps. `--unverified` is for `verify=False`.
`--profile` writes a profile of Python's functions of one more run of the last model.
"""

from __future__ import annotations

import argparse
import cProfile
import functools
import json
import os
import pstats
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

STEPS = {
    "passnet._compile.compiled": (
        "capture",
        "compare_with_model",
        "build_inference",
        "facts_of",
        "make_entry",
        "is_slower",
    ),
    "passnet._compile.build": (
        "_prepare",
        "note_strides",
        "author_passes",
        "rewrite",
        "_verify",
        "_in_parts",
        "faster",
    ),
    "passnet._compile.capture": ("call_captured", "facts_read"),
}
LARGE = ("bert20", "vit24", "swin")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", default=["gpt", "vit", "densenet", *LARGE])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--profile", help="a file for a profile")
    parser.add_argument("--unverified", action="store_true")
    parser.add_argument("--one", action="store_true", help="one run, in this process")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(one(options.models[0], options)), flush=True)
        return
    for model in options.models:
        with tempfile.TemporaryDirectory() as caches:
            runs = [_run(model, options, caches, profile=None) for _ in range(options.runs + 1)]
            if options.profile and model == options.models[-1]:
                _run(model, options, caches, profile=options.profile)
        first, *later = runs
        middle = {
            name: round(statistics.median(run[name] for run in later), 3)
            for name, value in first.items()
            if isinstance(value, float) and all(name in run for run in later)
        }
        print(
            json.dumps({"model": model, "operations": first["operations"], "first_process": first["total"], **middle}),
            flush=True,
        )


def _run(model: str, options: argparse.Namespace, caches: str, profile: str | None) -> dict[str, Any]:
    command = [sys.executable, __file__, model, "--one", "--threads", str(options.threads)]
    command += ["--profile", profile] if profile else []
    command += ["--unverified"] if options.unverified else []
    places = {name: f"{caches}/{name}" for name in ("PASSNET_CACHE", "PASSNET_KERNEL_CACHE", "TORCHINDUCTOR_CACHE_DIR")}
    ended = subprocess.run(command, env=os.environ | places, stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(ended.stdout.splitlines()[-1])


def one(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Returns the seconds of the first call and of its steps, each with those that it calls."""
    import importlib

    import torch

    import passnet

    torch.set_num_threads(options.threads)
    seconds: dict[str, float] = {}
    model, inputs = _built(name)
    with torch.no_grad():
        # Not part of compilation: libraries load their kernels.
        model(**inputs) if isinstance(inputs, dict) else model(*inputs)
        args, kwargs = ((), inputs) if isinstance(inputs, dict) else (inputs, {})
        compiled = passnet.compile(model, verify=not options.unverified)
        for path, steps in STEPS.items():
            module = importlib.import_module(path)
            for step in steps:
                setattr(module, step, _timed(step, getattr(module, step), seconds))
        profile = cProfile.Profile() if options.profile else None
        begin, cpu = time.perf_counter(), time.process_time()
        if profile is not None:
            profile.runcall(compiled, *args, **kwargs)
        else:
            compiled(*args, **kwargs)
        total, cpu = time.perf_counter() - begin, time.process_time() - cpu
    if profile is not None:
        with open(options.profile, "w") as file:
            shown = pstats.Stats(profile, stream=file)
            shown.sort_stats("cumulative").print_stats(150).sort_stats("tottime").print_stats(80)
    known = compiled.report().specialisations
    regions = known[0].regions if known else []
    return {
        "operations": sum(one.operations for one in known),
        "regions": f"{sum(region.kept for region in regions)}/{len(regions)}",
        "total": round(total, 3),
        "cpu": round(cpu, 3),
        **{step: round(value, 3) for step, value in seconds.items()},
    }


def _built(name: str) -> tuple[Any, Any]:
    import torch

    torch.manual_seed(0)
    if name == "bert20":
        from transformers import BertConfig, BertModel

        config = BertConfig(hidden_size=128, num_attention_heads=4, intermediate_size=512, num_hidden_layers=20)
        return BertModel(config).eval(), {"input_ids": torch.randint(0, 1000, (1, 32))}
    if name in ("vit24", "deit", "swin"):
        import timm

        makers: dict[str, Callable[[], Any]] = {
            "vit24": lambda: timm.create_model("vit_tiny_patch16_224", depth=24),
            "deit": lambda: timm.create_model("deit_tiny_patch16_224"),
            "swin": lambda: timm.create_model("swin_tiny_patch4_window7_224"),
        }
        return makers[name]().eval(), (torch.randn(1, 3, 224, 224),)
    from models import build

    return build(name, "cpu")


def _timed(step: str, function: Any, seconds: dict[str, float]) -> Any:
    @functools.wraps(function)
    def run(*arguments: Any, **named: Any) -> Any:
        begin = time.perf_counter()
        try:
            return function(*arguments, **named)
        finally:
            seconds[step] = seconds.get(step, 0.0) + time.perf_counter() - begin

    return run


if __name__ == "__main__":
    main()
