"""Noise of the reward on this machine: hand-written passes of several tasks, repeatedly, on a quiet and on a busy machine.

    python benches/reward_noise.py --passnet target/release/passnet --repeat 10 >noise.jsonl

Serves the environment on one graph of each task of the demo suite that has passes, and prints a line of JSON for each task and
load. `busy` means one spinning process for each core of the machine. Needs `PASSNET_PYTHON` as the command does.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PASSES = ROOT / "suites/demo/passes"


@contextmanager
def spinning(count: int) -> Iterator[None]:
    """Other work: so many processes that compute without a pause."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--passnet", default="passnet")
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--task", action="append", help="may be repeated; all with passes by default")
    arguments = parser.parse_args()
    tasks = arguments.task or sorted(folder.name for folder in PASSES.iterdir() if folder.is_dir())
    command = [arguments.passnet, "env", "serve", "suites/demo", "--listen", "127.0.0.1:0", "--graphs-per-task", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as server:
        try:
            url = server.stdout.readline().strip()
            for name, others in (("quiet", 0), ("busy", os.cpu_count() or 1)):
                with spinning(others):
                    for task in tasks:
                        print(
                            json.dumps({"machine": name, "task": task, **noise(url, task, arguments.repeat)}),
                            flush=True,
                        )
        finally:
            server.terminate()


def noise(url: str, task: str, repeat: int) -> dict[str, float]:
    script = [sys.executable, "recipes/grpo/noise.py", "--url", url, "--task", task]
    run = subprocess.run(
        [*script, "--passes", str(PASSES / task), "--repeat", str(repeat)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return json.loads(run.stdout) if run.returncode == 0 else {"error": run.stderr[-500:]}


if __name__ == "__main__":
    main()
