"""Captured whole models on one or several GPUs: eager mode, the modes of `torch.compile`, CUDA graphs of PyTorch, and `passnet.compile`.

    PYTHONPATH=SITE:benches python benches/gpu/whole_models.py --out OUT [--seconds 540] [--devices 2] [--samples DIR]

Captures `suites/whole-models` first, unless `--samples` names a folder of `passnet extract`. Each side of each model has a process of
its own. Processes compile at the same time, each with caches of its own; while one measures, the others on that device are
stopped, and it has a core for itself. `OUT/rows.jsonl` gets a line for each side of a model when it is done; models come in an
order of which each beginning has small and large ones, all sides of a model together. `benches/whole/page.py` makes tables and logs of the rows.

TorchInductor's second mode finds the kernels of the first in the cache, and so do the second and third side of PassNet; the
first of each is compiled without a cache (`cold` in the row).
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# Before PyTorch is imported: this process has no device, no pool of compilers, and one thread, since it forks.
os.environ |= {"PYTORCH_NVML_BASED_CUDA_CHECK": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1", "OMP_NUM_THREADS": "1"}

import torch
import torch._inductor.compile_fx
from whole import side as one_side
from whole.captured import Sample
from whole.turns import Chain, Turns

ROOT = Path(__file__).resolve().parents[2]
SIDES = (
    ("default", "reduce-overhead"),
    ("passnet+graphs", "passnet frozen+graphs", "fuse"),
    ("cudagraphs",),
)
INPUTS_SIDES = (("default", "reduce-overhead"), ("passnet+graphs",))
TUNING = (("max-autotune",),)
# Sides of a model with `--tuned`. The second mode that tunes finds the choices of the first in the cache.
TUNED_SIDES = (*SIDES, ("max-autotune-no-cudagraphs", "max-autotune"))
PART_SECONDS, TUNING_SECONDS = 150, 260


def main() -> None:
    options = _options()
    until = time.monotonic() + options.seconds
    options.out.mkdir(parents=True, exist_ok=True)
    _about(options)
    options.also = [compiler for compiler in options.also if _can_run(compiler, options.device)]
    capture = None if options.samples else _start_capture(options)
    _import_all(options)
    samples = options.samples or _captured(capture, options)
    models = _in_order(samples, options.models, smallest_first=options.tuned)
    print(f"{len(models)} models after {options.seconds - (until - time.monotonic()):.0f} s", flush=True)
    chains = _chains(options, samples, models)
    with (options.out / "rows.jsonl").open("a") as file:

        def rows(chain: Chain, part: Any, row: dict[str, Any]) -> None:
            file.write(json.dumps({"model": chain.key, "device": chain.device, **part, **row}) + "\n")
            file.flush()

        Turns(options.devices, options.jobs, until - 4, rows).run(chains)
    print(f"done after {options.seconds - (until - time.monotonic()):.0f} s", flush=True)
    # Threads of libraries must not hold the end up.
    os._exit(0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--samples", type=Path)
    parser.add_argument("--list", type=Path, default=ROOT / "suites/whole-models/models.txt", help="models to capture")
    parser.add_argument("--models", nargs="*", default=[], help="only models whose folder contains one of these")
    parser.add_argument("--seconds", type=float, default=540)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--devices", type=int, default=1, help="number of GPUs")
    parser.add_argument("--jobs", type=int, default=max(2, (os.cpu_count() or 2) * 5 // 8), help="processes at a time")
    parser.add_argument("--inputs-every", type=int, default=5, help="each N-th model also with weights as inputs")
    parser.add_argument("--tuned", action="store_true", help="smallest models first, each with the modes that tune")
    parser.add_argument(
        "--also", nargs="*", default=[], help="further compilers of `python/passnet/_compilers`, such as thunder"
    )
    parser.add_argument("--tune", type=int, default=2, help="models for the mode that tunes, at the end")
    parser.add_argument("--work", type=Path, default=Path("/tmp/whole-models"), help="folder for samples and caches")
    parser.add_argument("--no-rehearsal", action="store_true", help="compile nothing before the first model")
    return parser.parse_args()


def _about(options: argparse.Namespace) -> None:
    gpus = []
    if options.device != "cpu":
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False)
        # Without the identity of the card.
        gpus = [line.partition(" (")[0] for line in listed.stdout.splitlines()]
    about = {"torch": torch.__version__, "python": sys.version.split()[0], "gpus": gpus, "cores": os.cpu_count()}
    (options.out / "about.json").write_text(json.dumps(about) + "\n")


def _can_run(compiler: str, device: str) -> bool:
    """Asks in another process, because the question imports the compiler."""
    command = [sys.executable, "-m", "passnet._compilers", compiler, device]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)
    reason = asked.stdout.strip() or (asked.stderr.strip() if asked.returncode else "")
    if reason:
        print(f"{compiler} cannot run: {reason}", flush=True)
    return not reason


def _start_capture(options: argparse.Namespace) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "passnet.extract", f"@{options.list}", "--out", str(options.work / "samples")]
    command += ["--jobs", str(os.cpu_count() or 2), "--timeout", "50", "--verify", "read"]
    with (options.out / "extract.jsonl").open("w") as log, (options.out / "extract.err").open("w") as faults:
        return subprocess.Popen(command, stdout=log, stderr=faults, text=True)


def _captured(capture: subprocess.Popen[str], options: argparse.Namespace) -> Path:
    try:
        capture.wait(90)
    except subprocess.TimeoutExpired:
        print("the capture takes too long; what it has is measured", flush=True)
        capture.terminate()
    return options.work / "samples"


def _in_order(samples: Path, wanted: Sequence[str], *, smallest_first: bool) -> list[str]:
    """Models of one graph by the size of their text, or each sixth of these first, then the next of each six."""
    files = [path for path in samples.rglob("model.py") if not path.parent.name.startswith("subgraph_")]
    files = [path for path in files if (path.parent / "graph_net.json").exists()]
    files.sort(key=lambda path: (path.stat().st_size, str(path)))
    names = [str(file.parent.relative_to(samples)) for file in files]
    names = [name for name in names if not wanted or any(part in name for part in wanted)]
    return names if smallest_first else [name for start in (0, 3, 1, 4, 2, 5) for name in names[start::6]]


def _import_all(options: argparse.Namespace) -> None:
    """Imports what processes need, so that no process measures that, and checks that a fork can use the device."""
    from passnet._worker.rehearsal import rehearse_compiler

    torch.set_num_threads(1)
    if not options.no_rehearsal:
        try:
            rehearse_compiler()
        except Exception as fault:
            print(f"no rehearsal: {fault}", flush=True)
    if options.device == "cpu":
        return
    child = os.fork()
    if child == 0:
        try:
            torch.zeros(1, device=options.device)
            os._exit(0)
        except BaseException as fault:
            print(f"a fork cannot use the device: {fault}", flush=True)
            os._exit(1)
    if os.waitpid(child, 0)[1] != 0:
        if options.no_rehearsal:
            sys.exit(3)
        samples = options.samples or options.work / "samples"
        os.execv(sys.executable, [sys.executable, *sys.argv, "--no-rehearsal", "--samples", str(samples)])


def _chains(options: argparse.Namespace, samples: Path, models: Sequence[str]) -> list[Chain]:
    cores = sorted(os.sched_getaffinity(0))
    own = cores[: options.devices] if len(cores) >= 8 * options.devices else []
    if own:
        # Processes compile elsewhere.
        os.sched_setaffinity(0, set(cores) - set(own))

    def chain(number: int, name: str, weights: str, sides: Sequence[str], limit: float) -> Chain:
        device = number % options.devices
        cache = options.work / "caches" / f"{name.replace('/', '_')}-{weights}-{sides[0].replace(' ', '-')}"
        parts = [{"side": side, "weights": weights, "cold": place == 0} for place, side in enumerate(sides)]
        work = functools.partial(_work, options, samples / name, cache, own[device] if own else None)
        return Chain(name, parts, device, limit, work, functools.partial(shutil.rmtree, cache, ignore_errors=True))

    chains = []
    also = [(compiler,) for compiler in options.also]
    if options.tuned:
        # Tuning takes longest, so it begins first.
        return [
            chain(number, name, "static", sides, TUNING_SECONDS if "max-autotune" in sides else PART_SECONDS)
            for number, name in enumerate(models)
            for sides in (*reversed(TUNED_SIDES), *also)
        ]
    for number, name in enumerate(models):
        chains += [chain(number, name, "static", sides, PART_SECONDS) for sides in (*SIDES, *also)]
        if options.inputs_every and number % options.inputs_every == 0:
            chains += [chain(number, name, "inputs", sides, PART_SECONDS) for sides in INPUTS_SIDES]
    smallest = sorted(models, key=lambda name: (samples / name / "model.py").stat().st_size)[: options.tune]
    tuning = [chain(n, name, "static", sides, TUNING_SECONDS) for n, name in enumerate(smallest) for sides in TUNING]
    return [*chains, *tuning]


def _work(
    options: argparse.Namespace,
    folder: Path,
    cache: Path,
    core: int | None,
    part: dict[str, Any],
    pipe: Any,
    device: int,
) -> dict[str, Any]:
    """In a process of its own, before it has used a device."""
    folders = {
        "TORCHINDUCTOR_CACHE_DIR": "inductor",
        "TRITON_CACHE_DIR": "triton",
        "PASSNET_CACHE": "passnet",
        "PASSNET_KERNEL_CACHE": "kernels",
    }
    os.environ |= {variable: str(cache / name) for variable, name in folders.items()}
    if options.device == "cuda":
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
        os.environ["CUDA_VISIBLE_DEVICES"] = visible.split(",")[device] if visible else str(device)
    sys.stderr = (options.out / "faults.txt").open("a")
    sample = Sample(folder, options.device, part["weights"])
    return one_side.measure(sample, part["side"], one_side.Turn(pipe, core))


if __name__ == "__main__":
    main()
