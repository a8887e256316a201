"""Whole models on the CPU: eager, `passnet.compile` with and without folding, and TorchInductor.

    PYTHONPATH=python:benches python benches/cpu/compile.py [--threads N] [--seconds S] [MODEL...]

Prints one JSON object per line as `benches/gpu/compile.py` does. The sides of a model are called in turns.
"""

from __future__ import annotations

import time

import torch
from models import MODELS
from models.sides import compare, parse, say

SIDES = ("passnet", "passnet frozen", "default")


def main() -> None:
    arguments = parse(list(MODELS), SIDES)
    say(torch=torch.__version__, threads=arguments.threads)
    compare(arguments.models, "cpu", arguments.sides, time.monotonic() + arguments.seconds)


if __name__ == "__main__":
    main()
