"""Measures a fleet of one device and of all devices of a host in turn, then kills parts of it. `fleet.sh` prepares and calls it.

Every run evaluates the same tasks, with the same jobs and cores for each station. The time of a run begins with its first verdict: the
start of Ray and of the stations is reported separately. `rate` is verdicts per second from there to the last verdict; `steady` is the
same from a tenth to nine tenths of the verdicts, without the tail in which devices wait for the longest tasks.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python/tests"))

from fleet_processes import below, events, is_zombie, stations, verdicts, wait_for  # noqa: E402

END = 12.0
"""Seconds that a run gets to end after an interrupt."""
PARTS = ["wall", "start", "load", "check", "time", "held", "trials"]
"""Costs of a verdict (`Cost` in `crates/passnet-record/src/verdict.rs`)."""
HOLD = """
import sys, time, torch
held = torch.empty(2 << 30, dtype=torch.uint8, device="cuda")
torch.cuda.synchronize()
print("held", flush=True)
time.sleep(float(sys.argv[1]))
"""
"""A process of another user: it keeps 2 GiB of the memory of a GPU."""


class Bench:
    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments, self.out = arguments, arguments.out
        self.runs = self.out / "runs"
        self.began = time.monotonic()
        self.report: dict[str, Any] = {"suite": arguments.suite, "author": arguments.author, "steps": []}

    def left(self) -> float:
        return self.arguments.seconds - (time.monotonic() - self.began)

    def start(self, name: str, devices: int) -> subprocess.Popen[bytes]:
        """Starts a driver. A run of this name that was interrupted continues."""
        a = self.arguments
        command = [a.passnet, "fleet", "run", a.suite, "--author", a.author, "--tasks", str(a.tasks)]
        command += ["--graphs-per-task", "1", "--paths", "direct", "--timeout", "60", "--address", "local"]
        command += [
            "--jobs",
            str(a.jobs),
            "--cores",
            str(a.cores),
            "--device",
            a.device,
            "--out",
            str(self.runs / name),
        ]
        environment = dict(os.environ)
        if a.device == "cpu":
            command += ["--stations-per-node", str(devices), "--trials", str(a.trials or 10)]
        else:
            command += ["--trials", str(a.trials)] if a.trials else []
            environment["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, range(devices)))
        with open(self.out / f"{name}.log", "ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)

    def watch(
        self, driver: subprocess.Popen[bytes], name: str, seconds: float, until: int | None = None
    ) -> list[float]:
        """The time of each verdict since now. Ends with the driver, after `until` verdicts, or with an interrupt after `seconds`."""
        log, begin, times = self.runs / name / "run.jsonl", time.monotonic(), []
        position = log.stat().st_size if log.exists() else 0
        while True:
            ended = driver.poll() is not None
            now = time.monotonic() - begin
            if log.exists():
                with open(log, "rb") as file:
                    file.seek(position)
                    lines = file.read()
                lines = lines[: lines.rfind(b"\n") + 1]
                position += len(lines)
                times += [now] * lines.count(b'"event":"verdict"')
            if ended or (until is not None and len(times) >= until):
                return times
            if now > seconds:
                driver.send_signal(signal.SIGINT)
                try:
                    driver.wait(END)
                except subprocess.TimeoutExpired:
                    driver.kill()
                return times
            time.sleep(0.05)

    def measure(self, name: str, devices: int) -> None:
        """One run without faults."""
        driver = self.start(name, devices)
        times = self.watch(driver, name, self.left() - END)
        complete = driver.wait() == 0
        step: dict[str, Any] = {"name": name, "devices": devices, "verdicts": len(times), "complete": complete}
        if len(times) > 10:
            tenth = len(times) // 10
            step["seconds_to_first_verdict"] = round(times[0], 2)
            step["seconds"] = round(times[-1] - times[0], 2)
            step["rate"] = (len(times) - 1) / (times[-1] - times[0])
            step["steady"] = (len(times) - 2 * tenth) / max(times[-1 - tenth] - times[tenth], 1e-9)
            step["parts"] = self.parts(name)
            # Near 1: the devices measured all the time, and only more of them help.
            step["devices_measured"] = round(step["parts"]["held"] / devices / step["seconds"], 3)
        self.add(step)

    def parts(self, name: str) -> dict[str, float]:
        """Returns the time of the evaluations of a run by step, in seconds; `time` includes waiting for the device, `held` does not."""
        costs = [event["cost"] for event in events(self.runs / name) if event["event"] == "verdict"]
        return {part: round(sum(cost[f"{part}_ns"] for cost in costs) / 1e9, 1) for part in PARTS}

    def faults(self, name: str, devices: int, reference: str) -> None:
        """A run on all devices: one has foreign memory at the start, then a station and the driver are killed, and it continues."""
        other = self.hold(devices - 1, 15.0)
        driver = self.start(name, devices)
        first = self.watch(driver, name, self.left() - 4 * END, until=self.arguments.tasks // 4)
        killed = [pid for pid in stations(driver.pid) if below(pid)]
        if killed:
            os.kill(killed[0], signal.SIGKILL)
        second = self.watch(driver, name, self.left() - 3 * END, until=self.arguments.tasks // 4)
        devices_of = [pid for station in stations(driver.pid) for pid in (station, *below(station))]
        others = set(below(driver.pid)) - set(devices_of)
        driver.kill()
        driver.wait()
        begin, dead = time.monotonic(), True
        try:
            wait_for(lambda: all(is_zombie(pid) for pid in devices_of), 20)
        except AssertionError:
            dead = False
        ended, left = round(time.monotonic() - begin, 1), sum(not is_zombie(pid) for pid in others)
        driver = self.start(name, devices)
        third = self.watch(driver, name, self.left() - END)
        complete = driver.wait() == 0
        if other is not None:
            other.kill()
        found, expected = verdicts(self.runs / name), verdicts(self.runs / reference)
        statuses = [
            {str(e["id"]): e["status"] for e in events(self.runs / run) if e["event"] == "verdict"}
            for run in (name, reference)
        ]
        notes = (self.out / f"{name}.log").read_text(errors="replace").splitlines()
        self.add(
            {
                "name": name,
                "devices": devices,
                "complete": complete,
                "station_killed": bool(killed),
                "verdicts_until_faults": [len(first), len(second), len(third)],
                "stations_and_workers_ended": dead,
                "seconds_until_they_ended": ended,
                "processes_of_ray_then": left,
                "verdicts": len(found),
                "counted_twice": len(found) - len(set(found)),
                "same_set": found == expected,
                "other_statuses": sum(
                    statuses[0][key] != status for key, status in statuses[1].items() if key in statuses[0]
                ),
                "foreign_memory": [line for line in notes if "in use by other" in line][:3] if other else None,
            }
        )

    def hold(self, device: int, seconds: float) -> subprocess.Popen[bytes] | None:
        if self.arguments.device == "cpu":
            return None
        environment = {**os.environ, "CUDA_VISIBLE_DEVICES": str(device)}
        process = subprocess.Popen([sys.executable, "-c", HOLD, str(seconds)], env=environment, stdout=subprocess.PIPE)
        process.stdout.readline()
        return process

    def add(self, step: dict[str, Any]) -> None:
        """Reports a step, and packs all that there is."""
        self.report["steps"].append(step)
        for field in ("rate", "steady"):
            by_size: dict[int, list[float]] = {}
            for entry in self.report["steps"]:
                if field in entry:
                    by_size.setdefault(entry["devices"], []).append(entry[field])
            if len(by_size) == 2:
                one, all_ = (statistics.mean(by_size[size]) for size in sorted(by_size))
                self.report[f"{field}_ratio"] = round(all_ / one, 3)
        self.report["seconds_used"] = round(time.monotonic() - self.began, 1)
        print(json.dumps(step), flush=True)
        (self.out / "fleet.json").write_text(json.dumps(self.report, indent=2) + "\n")
        part = self.out / "runs.tar.gz.part"
        with tarfile.open(part, "w:gz") as archive:
            archive.add(self.runs, "runs", filter=lambda entry: None if "blobs" in entry.name.split("/") else entry)
        part.rename(self.out / "runs.tar.gz")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--passnet", default=shutil.which("passnet"))
    parser.add_argument("--suite", required=True)
    parser.add_argument("--tasks", type=int, default=100)
    parser.add_argument("--author", default="fuse")
    parser.add_argument("--device", default="cuda", choices=["cpu", "cuda"])
    parser.add_argument("--devices", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=10)
    parser.add_argument("--cores", type=int, default=12)
    parser.add_argument("--trials", type=int, help="of each evaluation, instead of the number of `fleet run`")
    parser.add_argument("--seconds", type=float, default=200.0)
    arguments = parser.parse_args()
    bench = Bench(arguments)
    bench.runs.mkdir(parents=True, exist_ok=True)
    bench.measure("one-1", 1)
    bench.measure("all-1", arguments.devices)
    took = bench.report["seconds_used"]
    # A second pair in the other order, if the faults still have time: they need about three starts and a run.
    if bench.left() > took + 0.75 * took + 20:
        bench.measure("all-2", arguments.devices)
        bench.measure("one-2", 1)
    if bench.left() > 30:
        bench.faults("faults", arguments.devices, "one-1")
    print(json.dumps({key: value for key, value in bench.report.items() if key != "steps"}), flush=True)


if __name__ == "__main__":
    main()
