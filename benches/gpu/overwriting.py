"""Time between timed calls: contents with and without sums, and overwriting of what calls allocate. One line per case.

    python benches/gpu/overwriting.py [--device cuda]

Drives a worker as a referee does, with a pass that allocates and releases memory of the size of its input.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "python/tests")]

import torch  # noqa: E402

from passnet._passes.trace import trace_pattern  # noqa: E402
from server import ForkServer  # noqa: E402
from test_timed_device import SCRATCH  # noqa: E402

WINDOWS, ADDENDS = 1024, 4099


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    with tempfile.TemporaryDirectory() as scratch:
        server = ForkServer(Path(scratch))
        passes = Path(scratch) / "passes"
        passes.mkdir()
        (passes / "scratch.py").write_text(SCRATCH)
        (passes / "sorted_output_pass_rule_names.json").write_text('["scratch"]')
        for count in (1 << 12, 1 << 18, 1 << 22) if device == "cpu" else (1 << 12, 1 << 20, 1 << 24):
            measure(server, device, passes, count)
        server.close()


def measure(server: ForkServer, device: str, passes: Path, count: int) -> None:
    worker = server.fork()
    pattern = trace_pattern(lambda x: (torch.sin(x), torch.cos(x)))
    worker.load(pattern, device=device, kind="passes", dir=str(passes), compiled=False)
    worker.inputs(0, x=torch.ones(count))
    worker.call(poison=True)
    windows = [{"start": 5, "step": 3, "addend_start": 7, "addend_step": 11}]
    cases = {"windows": {}, "sums": {"x": (torch.randn(ADDENDS), None, None)}}
    for contents, addends in cases.items():
        worker.pools(windows=WINDOWS, addends=addends, x=torch.randn(count + WINDOWS - 1))
        for overwrite in (False, True):
            blocks = [worker.time(warmup=3, trials=20, windows=windows, overwrite=overwrite) for _ in range(5)]
            line = {
                "device": device,
                "elements": count,
                "contents": contents,
                "overwrite": overwrite,
                "call_us": statistics.median(statistics.median(block["e2e_ns"]) for block in blocks) / 1e3,
                "between_us": statistics.median((block["total_ns"] - sum(block["e2e_ns"])) / 23 for block in blocks)
                / 1e3,
                "overwriting_us": statistics.median(block["overwriting_ns"] / 23 for block in blocks) / 1e3,
            }
            print(json.dumps(line), flush=True)
    worker.request("drop_inputs")


if __name__ == "__main__":
    main()
