"""Time from a model to its first result on a GPU, without caches, and where it goes.

    PYTHONPATH=python:benches python benches/gpu/compile_time.py [--jobs 2] [--sides ...] [--profile FOLDER] [MODEL...]

Each side of each model has a process and empty caches of its own. Sides: `passnet` (with CUDA graphs), `serial` (the same, with
kernels compiled one after the other), `frozen`, `default` and `reduce-overhead` of `torch.compile`. Prints one JSON object per line:
seconds of the first call, and for PassNet those of its steps, where a step contains those that it calls. With `--profile`, each
first call leaves a profile of Python's functions in that folder (`MODEL-SIDE.txt`, by total and by own time), and takes longer.
"""

from __future__ import annotations

import argparse
import contextlib
import cProfile
import functools
import json
import os
import pstats
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

SIDES = ("passnet", "serial", "frozen", "default", "reduce-overhead")
STEPS = (
    "fold_constants",
    "freeze",
    "channels_last",
    "note_strides",
    "decompose",
    "author_passes",
    "compile_ahead",
    "_verify",
    "_in_parts",
    "faster",
    "_graphed",
)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", default=["gpt", "bert", "resnet", "unet", "convnext", "efficientnet"])
    parser.add_argument("--sides", nargs="*", default=SIDES)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--profile", help="a folder for profiles")
    parser.add_argument("--one", help="this side, in this process")
    options = parser.parse_args()
    if options.one:
        print(
            json.dumps(
                {
                    "model": options.models[0],
                    "side": options.one,
                    **one(options.models[0], options.one, options.profile),
                }
            ),
            flush=True,
        )
        return
    cores = sorted(os.sched_getaffinity(0))
    share = len(cores) // options.jobs
    parts = [cores[number * share : (number + 1) * share] for number in range(options.jobs)]

    def run(part: tuple[str, str]) -> None:
        mine = parts.pop()
        with tempfile.TemporaryDirectory() as caches:
            places = {
                name: f"{caches}/{name}" for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "PASSNET_CACHE")
            }
            command = [sys.executable, __file__, part[0], "--one", part[1]]
            if options.profile:
                command += ["--profile", options.profile]
            ended = subprocess.run(
                ["taskset", "-c", ",".join(map(str, mine)), *command],
                env=os.environ | places,
                capture_output=True,
                text=True,
            )
        print(
            ended.stdout or json.dumps({"model": part[0], "side": part[1], "error": ended.stderr[-600:]}),
            end="\n",
            flush=True,
        )
        parts.append(mine)

    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(run, [(model, side) for model in options.models for side in options.sides]))


def one(name: str, side: str, profiles: str | None) -> dict[str, Any]:
    """The seconds of the first call of a side, and of the steps of PassNet. Writes a profile to a folder if there is one."""
    import torch
    from models import build

    import passnet
    from passnet._backend.ahead import Ahead
    from passnet._compile import build as steps

    seconds: dict[str, float] = {}
    for step in STEPS:
        setattr(steps, step, _timed(step, getattr(steps, step), seconds))
    if side == "serial":
        steps.compile_ahead = lambda *_: Ahead((), {})
    model, inputs = build(name, "cuda")
    with torch.no_grad():
        # Not part of compilation: libraries load their kernels.
        model(*inputs)
        torch.cuda.synchronize()
        if side in ("passnet", "serial", "frozen"):
            compiled = passnet.compile(model, cuda_graphs="auto", freeze=side == "frozen")
        else:
            compiled = torch.compile(model, mode=side)
        profile = cProfile.Profile() if profiles else contextlib.nullcontext()
        begin = time.perf_counter()
        with profile:
            compiled(*inputs)
            torch.cuda.synchronize()
        first = time.perf_counter() - begin
    if profiles:
        with open(f"{profiles}/{name}-{side}.txt", "w") as file:
            pstats.Stats(profile, stream=file).sort_stats("cumulative").print_stats(120).sort_stats(
                "tottime"
            ).print_stats(60)
    return {"first_s": round(first, 2), **{step: round(value, 2) for step, value in seconds.items()}}


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
