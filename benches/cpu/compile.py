"""Whole models on the CPU: eager, `passnet.compile` with and without folding, and TorchInductor.

    PYTHONPATH=python:benches python benches/cpu/compile.py [--threads N] [--seconds S] [MODEL...]

Prints one JSON object per line as `benches/gpu/compile.py` does. The sides of a model are called in turns.
"""

from __future__ import annotations

import argparse
import time
import warnings

import torch
from models import MODELS
from models.sides import compare, say

SIDES = ("passnet", "passnet frozen", "default")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", default=list(MODELS))
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--sides", nargs="*", default=SIDES)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    warnings.simplefilter("ignore")
    say(torch=torch.__version__, threads=arguments.threads)
    compare(arguments.models, "cpu", arguments.sides, time.monotonic() + arguments.seconds)


if __name__ == "__main__":
    main()
