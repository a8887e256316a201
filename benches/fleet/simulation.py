"""Prints the tables of `docs/results/fleet.md` on 1,000 simulated GPUs: `python benches/fleet/simulation.py`.

Needs the command, as `passnet` or in PASSNET_BINARY. A release build takes under a minute, a development build some minutes.
"""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RUNS = ["passbench-f-fuse", "passbench-c-fuse", "public-fuse", "public-inductor"]
ROWS = [
    "--devices 1 --tasks 1000",
    "",
    "--tasks 1000000",
    "--check-every 10",
    "--station-mtbf-hours 24 --node-mtbf-hours 168",
    "--station-mtbf-hours 1 --node-mtbf-hours 24",
    "--station-mtbf-hours 0.1 --node-mtbf-hours 1",
    "--biased 0.01",
]
ACTIONS = [50, 150]


def simulate(runs: Path, flags: str) -> dict[str, Any]:
    given = {"--devices": "1000", "--tasks": "200000"}
    words = flags.split()
    given |= dict(zip(words[::2], words[1::2], strict=True))
    command = [os.environ.get("PASSNET_BINARY", "passnet"), "fleet", "simulate", *RUNS]
    command += [word for pair in given.items() for word in pair]
    return json.loads(subprocess.run(command, cwd=runs, check=True, capture_output=True).stdout)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(ROOT / "docs/results/h200-suites-runs.tar.gz") as archive:
            archive.extractall(folder, filter="data")
        print(
            "| flags in addition | seconds | tasks/s | used | before the tail | wasted | stations lost | evaluated again |"
        )
        print("|---|---:|---:|---:|---:|---:|---:|---:|")
        for flags in ROWS:
            r = simulate(Path(folder), flags)
            assert r["given_up"] == 0, r
            cells = [f"{r['makespan_s']:.0f}", f"{r['jobs_per_second']:.1f}", f"{r['utilisation']:.1%}"]
            cells += [f"{r['utilisation_before_tail']:.1%}", f"{r['wasted']:.2%}", str(r["losses"]), str(r["doubted"])]
            print(f"| {f'`{flags}`' if flags else 'none'} | {' | '.join(cells)} |", flush=True)
        print(
            "\n| actions per second | tasks and actions/s | used | wait of an action: median, 95 %, 99 % | most served trainer / mean |"
        )
        print("|---:|---:|---:|---|---:|")
        for actions in ACTIONS:
            r = simulate(Path(folder), f"--actions-per-second {actions}")
            waits = ", ".join(f"{wait:.2f}" for wait in r["action_wait_s"])
            cells = [str(actions), f"{r['jobs_per_second']:.1f}", f"{r['utilisation']:.1%}", f"{waits} s"]
            print(f"| {' | '.join(cells)} | {r['most_served_trainer']:.2f} |", flush=True)


if __name__ == "__main__":
    main()
