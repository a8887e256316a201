"""What the fork server sets right in a worker before anybody's code runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import passnet

SCRIPT = """
import sys
from pathlib import Path

from passnet import _zygote

_zygote._point_caches_below(Path(sys.argv[1]), Path(sys.argv[2]))
from torch._inductor import codecache

print(codecache._HEADER_DIR)
print(codecache._HEADER_LOCK_DIR)
"""


def test_inductors_headers_lie_in_the_cache_of_the_worker(tmp_path: Path):
    """Inductor chooses their place when it is imported, in a folder that no worker may write to."""
    cache, scratch = tmp_path / "cache", tmp_path / "scratch"
    scratch.mkdir()
    site = str(Path(passnet.__file__).parents[1])
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(cache), str(scratch)],
        env={**os.environ, "PYTHONPATH": site},
        capture_output=True,
        text=True,
        check=True,
    )
    assert all(line.startswith(f"{cache}{os.sep}") for line in run.stdout.splitlines()), run.stdout
