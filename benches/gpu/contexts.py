"""Number of processes a second that a host can give a context on its GPUs: on one of them, and on all.

    python benches/gpu/contexts.py [--seconds 5] [--places 1 4 10 20] [--visible all own]

The referee starts two processes or more for each evaluation, and each makes a context. If all GPUs together get no more of them
than one GPU does, the host is the limit of a fleet, not its devices. Processes are forked from one that has imported PyTorch, as
workers are. With `--visible own`, a process sees only its own GPU, as the workers of a station do. `driver_s`, `context_s` and
`kernels_s` are the mean times of the steps of one process: the driver is initialised, the context is made, and two kernels are
loaded and run. `user_s` and `system_s` are CPU seconds of one process: the rest of `wall_s` is waiting.
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import time

# Without it the question how many GPUs there are would initialise CUDA here, and no child could.
os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"

import itertools

import torch

STEPS = ("driver_s", "context_s", "kernels_s")


def make(device: str, visible: str, report: int) -> None:
    """Runs the first steps of a worker, in a child that never returns, and writes the time of each step to `report`."""
    code = 1
    try:
        times = [time.monotonic()]
        if device != "cpu":
            if visible == "own":
                os.environ["CUDA_VISIBLE_DEVICES"], device = device.removeprefix("cuda:"), "cuda:0"
            torch.cuda.init()
            times.append(time.monotonic())
            torch.cuda.set_device(torch.device(device))
            torch.empty(1, device=device)
            torch.cuda.synchronize()
        else:
            times.append(time.monotonic())
        times.append(time.monotonic())
        torch.ones(1, device=device).sum().item()
        times.append(time.monotonic())
        os.write(report, struct.pack("3d", *(later - earlier for earlier, later in itertools.pairwise(times))))
        code = 0
    finally:
        os._exit(code)


def measure(devices: list[str], places: int, seconds: float, visible: str) -> dict[str, float | int | str]:
    """Keeps `places` processes at work for each device."""
    running: dict[int, tuple[str, float]] = {}
    walls, user, system, failed = [], 0.0, 0.0, 0
    reading, writing = os.pipe()
    begin = time.monotonic()

    def start(device: str) -> None:
        at = time.monotonic()
        pid = os.fork()
        if pid == 0:
            make(device, visible, writing)
        running[pid] = (device, at)

    for _ in range(places):
        for device in devices:
            start(device)
    steps: list[tuple[float, ...]] = []
    while running:
        pid, status, usage = os.wait4(-1, 0)
        device, at = running.pop(pid)
        now = time.monotonic()
        failed += status != 0
        if status == 0:
            steps.append(struct.unpack("3d", os.read(reading, 24)))
        if now - begin <= seconds:
            walls.append(now - at)
            user, system = user + usage.ru_utime, system + usage.ru_stime
            start(device)
    os.close(reading)
    os.close(writing)
    count = max(len(walls), 1)
    return {
        "devices": len(devices),
        "visible": visible,
        "places": places,
        # Processes at work over the time of each: a count of those that ended would miss the ones that are cut off.
        "per_second": round(places * len(devices) * len(walls) / sum(walls), 2) if walls else 0.0,
        "wall_s": round(sum(walls) / count, 3),
        **{name: round(sum(step[index] for step in steps) / max(len(steps), 1), 3) for index, name in enumerate(STEPS)},
        "user_s": round(user / count, 3),
        "system_s": round(system / count, 3),
        "failed": failed,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each step")
    parser.add_argument("--places", type=int, nargs="+", default=[1, 4, 10, 20], help="processes at a time on a device")
    parser.add_argument(
        "--visible", nargs="+", default=["own"], choices=["all", "own"], help="GPUs that a process sees"
    )
    parser.add_argument("--device", default="cuda", choices=["cpu", "cuda"], help="cpu only tries this script out")
    arguments = parser.parse_args()
    count = torch.cuda.device_count() if arguments.device == "cuda" else 1
    devices = [f"cuda:{index}" for index in range(count)] if arguments.device == "cuda" else ["cpu"]
    for visible in arguments.visible:
        for places in arguments.places:
            for some in [devices[:1], devices] if count > 1 else [devices]:
                print(json.dumps(measure(some, places, arguments.seconds, visible)), flush=True)


if __name__ == "__main__":
    main()
