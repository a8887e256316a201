"""Kills parts of a fleet at random moments and compares the verdicts with those of one machine.

    python benches/fleet/faults.py --faults 20 --seed 1 OUT
    python benches/fleet/faults.py --faults 4 --kinds bridge station OUT

The fleet is a Ray cluster of this machine with two stations. These processes are killed, in random order, each once before any twice: a station,
its actor, the raylet, the server of the cluster's state (gcs_server), the bridge, the driver, and the driver by an interrupt. A driver that
ends is started again with the same command, until the run is complete. Needs the command (PASSNET_BINARY) and Ray.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python/tests"))

from agent_command import QUICK, binary  # noqa: E402
from fleet_processes import below, is_zombie, parent, stations, verdicts, wait_for  # noqa: E402

KINDS = ["station", "actor", "raylet", "gcs_server", "bridge", "driver", "interrupt"]


def named(root: int, name: str) -> list[int]:
    """The processes below one whose program has this name."""
    found = []
    for pid in below(root):
        try:
            program = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(part.decode(errors="replace").endswith(name) for part in program[:6]):
            found.append(pid)
    return found


def program(pid: int) -> str:
    """The beginning of the command line of a process, for people."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return "gone"
    return " ".join(words[:4])[:120]


def victims(driver: int, kind: str) -> list[int]:
    if kind in ("driver", "interrupt"):
        return [driver]
    if kind == "station":
        return stations(driver)
    if kind == "actor":
        return [parent(pid) for pid in stations(driver)]
    return named(driver, "passnet._fleet.bridge" if kind == "bridge" else kind)


def main() -> None:
    arguments = parse()
    what = [str(arguments.suite), "--tasks", arguments.tasks, "--graphs-per-task", "2", *QUICK, "--author", "eager"]
    alone, fleet = arguments.out / "alone", arguments.out / "fleet"
    begin = time.monotonic()
    subprocess.run([binary(), "bench", "run", *what, "--out", str(alone)], check=True, capture_output=True)
    seconds_alone = time.monotonic() - begin
    command = [binary(), "fleet", "run", *what, "--out", str(fleet), "--address", "local", "--stations-per-node", "2"]
    begin = time.monotonic()
    faults = Faults(arguments)
    starts, survivors = 1, faults.drive(command)
    while not faults.complete:
        starts += 1
        survivors += faults.drive(command)
    found, expected = verdicts(fleet), verdicts(alone)
    report = {
        "faults": dict(faults.caused),
        "driver_starts": starts,
        "graphs": len(expected),
        "equal_sets": set(found) == set(expected),
        "counted_twice": len(found) - len(set(found)),
        "survivors": survivors,
        "seconds_alone": round(seconds_alone, 1),
        "seconds_with_faults": round(time.monotonic() - begin, 1),
    }
    print(json.dumps(report, indent=2))
    sys.exit(0 if report["equal_sets"] and not report["counted_twice"] and not survivors else 1)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--suite", type=Path, default=ROOT / "suites/demo")
    parser.add_argument("--tasks", default="8")
    parser.add_argument("--faults", type=int, default=20)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS, help="only these")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--pause", type=float, nargs=2, default=(3.0, 25.0), help="bounds of the seconds between two faults"
    )
    return parser.parse_args()


class Faults:
    """Starts of the driver, each with faults at random moments."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._arguments = arguments
        self._chance = random.Random(arguments.seed)
        self._deck: list[str] = []
        self.caused: Counter[str] = Counter()
        self.complete = False

    def drive(self, command: list[str]) -> list[str]:
        """Runs the driver until it ends. Returns the programs that outlived it by a minute."""
        with open(self._arguments.out / "driver.log", "a") as log:
            driver = subprocess.Popen(command, stdout=log, stderr=log)
        processes: set[int] = set()
        while driver.poll() is None:
            end = time.monotonic() + self._chance.uniform(*self._arguments.pause)
            while driver.poll() is None and time.monotonic() < end:
                processes.update(below(driver.pid))
                time.sleep(0.1)
            if driver.poll() is None and self.caused.total() < self._arguments.faults:
                self._cause(driver.pid)
        self.complete = driver.returncode == 0
        try:
            wait_for(lambda: all(is_zombie(pid) for pid in processes), 60)
        except AssertionError:
            return [program(pid) for pid in processes if not is_zombie(pid)]
        return []

    def _cause(self, driver: int) -> None:
        """Causes the next kind of fault, if there is a process for it."""
        self._deck = self._deck or self._chance.sample(self._arguments.kinds, len(self._arguments.kinds))
        kind = self._deck.pop()
        found = victims(driver, kind)
        if not found:
            self._deck.insert(0, kind)  # Not started yet: its turn comes later.
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._chance.choice(found), signal.SIGINT if kind == "interrupt" else signal.SIGKILL)
            self.caused[kind] += 1


if __name__ == "__main__":
    main()
