"""Stages of a dataset over more and more graphs: `growth.py PASSNET OUT SAMPLES...`.

SAMPLES are folders of samples. They are imported once, and duplicates are dropped. Then the first 1,000, 2,000, 5,000 ... of the unique
graphs in a random order (seed 21) become a dataset each, whose stages run one after the other without PyTorch. Prints one line of JSON for
each size: what is distinct, and seconds and peak memory of each stage. OUT is a folder for the datasets; it can be deleted afterwards.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

SIZES = (1_000, 2_000, 5_000, 10_000, 20_000)
SEED = 21


def stage(*command: str) -> tuple[dict[str, float], str]:
    """Runs a command. Returns its seconds and the MiB of its largest memory, and its output for people."""
    begin = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{output}")
    return {"seconds": round(time.monotonic() - begin, 2), "mib": usage.ru_maxrss // 1024}, output.strip()


def main(passnet: str, out: Path, samples: list[str]) -> None:
    everything = out / "everything"
    for folder in samples:
        stage(passnet, "dataset", "import", folder, "--out", str(everything))
    stage(passnet, "dataset", "dedup", str(everything))
    exported = out / "samples"
    stage(passnet, "dataset", "export", str(everything), "--out", str(exported))
    found = sorted(path.parent for path in exported.rglob("model.py"))
    random.Random(SEED).shuffle(found)
    for size in sorted({*(size for size in SIZES if size < len(found)), len(found)}):
        chosen, dataset = out / f"chosen-{size}", out / f"dataset-{size}"
        for path in found[:size]:
            shutil.copytree(path, chosen / path.relative_to(exported), copy_function=os.link)
        row: dict[str, object] = {"graphs": size}
        for name, command in (
            ("import", ("import", str(chosen), "--out", str(dataset))),
            ("dedup", ("dedup", str(dataset))),
            ("fold", ("fold", str(dataset))),
        ):
            figures, text = stage(passnet, "dataset", *command)
            row[name] = {**figures, "result": text.splitlines()[-1]}
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
