"""Device time of the author's reductions of few long rows next to eager mode: the measurement behind `front/lower/reduce.rs`.

Each call is timed as the CUDA graph of ten, in microseconds, with its largest error against float64 divided by the mean magnitude. One line of JSON for each call.
Run: `PYTHONPATH=python:python/tests python benches/gpu/long_rows.py`.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch

from authored import load, texts

F = torch.nn.functional
Case = tuple[str, Callable[..., torch.Tensor], list[tuple[int, ...]]]


def cases() -> list[Case]:
    rows = [
        (1, 1 << 15),
        (1, 1 << 17),
        (1, 1 << 20),
        (4, 1 << 18),
        (16, 1 << 18),
        (32, 1 << 19),
        (64, 1 << 17),
        (128, 1 << 17),
    ]
    found: list[Case] = []
    for shape in rows:
        found.append(("softmax", lambda x: torch.softmax(x * 0.5, -1), [shape]))
        found.append(("sum", lambda x: torch.sum(x * 2.0, -1), [shape]))
    for channels, places in ((512, 3200), (64, 12544)):
        shapes: list[tuple[int, ...]] = [(1, channels, places), (channels,), (channels,)]
        found.append(("group_norm", lambda x, w, b: F.group_norm(x, 1, w, b, 1e-8), shapes))
    found.append(
        ("relu(group_norm)", lambda x, w, b: F.relu(F.group_norm(x, 32, w, b)), [(1, 256, 16384), (256,), (256,)])
    )
    found.append(("relu(batch_norm)", lambda x: F.relu(F.batch_norm(x, None, None, training=True)), [(16, 64, 12544)]))
    found.append(("mean of columns", lambda x: torch.mean(x * 2.0, 0), [(1 << 18, 16)]))
    for places, columns in (
        (1 << 17, 32),
        (1 << 15, 128),
        (1 << 17, 128),
        (1 << 14, 256),
        (1 << 16, 256),
        (1 << 16, 512),
    ):
        found.append(("sum of columns", lambda x: torch.sum(x * 2.0, 0), [(places, columns)]))
    for shape in ((768, 48, 128), (512, 256, 64)):
        found.append(("weight_norm", lambda v, g: torch._weight_norm(v, g, 2), [shape, (1, 1, shape[2])]))
    found.append(("amax of channels", lambda x: torch.amax(x, (0, 2)), [(16, 16, 1 << 14)]))
    found.append(("sum of squares", lambda x, y: torch.sum((x - y) ** 2), [(1 << 20,), (1 << 20,)]))
    return found


def device_us(call: Callable[[], Any]) -> float:
    """The least time of seven."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(10):
            call()
    graph.replay()
    times = []
    for _ in range(7):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 100)
    return min(times)


def main() -> None:
    for name, function, shapes in cases():
        torch.manual_seed(0)
        given = tuple(torch.randn(shape) for shape in shapes)
        written = texts(function, given, "cuda")
        given = tuple(argument.cuda() for argument in given)
        expected = function(*(argument.double() for argument in given))
        row: dict[str, Any] = {"call": name, "shapes": shapes}
        fused = load(written[0], Path(tempfile.mkdtemp())).fused if written else None
        for side, run in (("eager", function), ("fuse", fused)):
            if run is not None:
                error = (run(*given) - expected).abs().max() / expected.abs().mean()
                row[side] = {"us": round(device_us(partial(run, *given)), 1), "error": error.item()}
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
