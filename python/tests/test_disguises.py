"""A few of the random kernels of `fuzz/disguises.py`: the fuzzer works, and none escapes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

FUZZER = Path(__file__).parents[2] / "fuzz/disguises.py"


def test_disguised_kernels_are_refused():
    run = subprocess.run(
        [sys.executable, FUZZER, "--kernels", "20", "--seed", "1"], stdout=subprocess.PIPE, text=True, check=False
    )
    found = json.loads(run.stdout.splitlines()[-1])
    assert run.returncode == 0 and found["escaped"] == [], run.stdout
    assert sum(found["judged"].values()) == 20 and found["judged"]["refused"] >= 15
    # Unjudged, the same kernels do what is forbidden.
    assert found["unjudged"].get("shows", 0) >= 1
