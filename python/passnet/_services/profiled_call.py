"""Calls a graph once for a tool that watches the process, such as `ncu` or `compute-sanitizer`.

`python -m passnet._services.profiled_call FILE WARM_UP` reads a request as for :mod:`passnet._services.confirm` from FILE. It makes WARM_UP
calls first, and then one call between `cudaProfilerStart` and `cudaProfilerStop`. It prints nothing.

There is no sandbox: the tools read counters and instrument kernels, which a sandbox forbids. The caller has checked the passes by the
integrity rules.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

from passnet._passes.load import PassDirectory
from passnet._passes.rewrite import rewrite
from passnet._passes.wire import to_graph_module
from passnet._services.inputs import make_inputs
from passnet.kernels._device_code import judge_triton


def call(request: dict[str, Any], warm_up: int) -> None:
    """Makes the calls of a request."""
    device = torch.device(request["device"])
    torch.set_num_threads(request["threads"])
    with tempfile.TemporaryDirectory() as place, torch.no_grad():
        module = to_graph_module(request["graph"])
        if request["passes"]:
            for name, text in request["passes"].items():
                Path(place, name).write_text(text)
            if device.type == "cuda":
                judge_triton()
            module = rewrite(module, PassDirectory.load(Path(place)).passes).module
        inputs = [value.to(device) for value in make_inputs(request["inputs"])]
        for _ in range(warm_up):
            module(*inputs)
        _wait(device)
        if device.type == "cuda":
            torch.cuda.profiler.start()
        module(*inputs)
        _wait(device)
        if device.type == "cuda":
            torch.cuda.profiler.stop()


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


if __name__ == "__main__":
    call(json.loads(Path(sys.argv[1]).read_text()), int(sys.argv[2]))
