"""Settings that the fork server makes in a worker before other code runs."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import passnet
from passnet._passes.trace import trace_pattern
from passnet._worker import libraries
from server import ForkServer

SCRIPT = """
import sys
from pathlib import Path

from passnet._worker import fork_server
from torch._inductor import codecache

fork_server._point_caches_below(Path(sys.argv[1]), Path(sys.argv[2]))
print(codecache._HEADER_DIR)
print(codecache._HEADER_LOCK_DIR)
"""

RELU = """
def pattern(x):
    return torch.relu(x)

def replacement_args(x):
    return (x,)

def relu(x):
    return torch.clamp(x, min=0)

def replacement_func():
    return relu
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


@pytest.mark.skipif(torch.cuda.is_available(), reason="the fork server compiles nothing where there is a GPU")
@pytest.mark.long
def test_the_compiler_is_set_up_for_workers_and_forgets_the_cache(tmp_path: Path):
    server = ForkServer(tmp_path)
    try:
        server.compile(str(tmp_path / "first"))
        compiled = list((tmp_path / "first/inductor").rglob("*.so"))
        assert compiled
        worker = server.fork(cache=str(tmp_path / "second"))
        loaded = worker.load(trace_pattern(lambda x: torch.relu(x) + 1), kind="inductor", mode="default", compiled=True)
        assert loaded["type"] == "loaded", loaded
        worker.inputs(0, x=torch.ones(4))
        assert worker.call(0)["type"] == "outputs"
        assert list((tmp_path / "second/inductor").rglob("*.so"))
        assert list((tmp_path / "first/inductor").rglob("*.so")) == compiled
    finally:
        server.close()


@pytest.mark.skipif(torch.cuda.is_available(), reason="the fork server imports Dynamo where there is a GPU")
def test_dynamo_is_imported_on_request(tmp_path: Path):
    passes = tmp_path / "passes"
    passes.mkdir()
    (passes / "sorted_output_pass_rule_names.json").write_text('["relu"]')
    text = "import sys\nimport torch\nassert HAS == ('torch._dynamo' in sys.modules)\n" + RELU
    server = ForkServer(tmp_path)
    try:
        for has_dynamo in (False, True):
            (passes / "relu.py").write_text(text.replace("HAS", str(has_dynamo)))
            for compiled in (False, True) if has_dynamo else (False,):
                loaded = server.fork().load(
                    trace_pattern(lambda x: torch.relu(x) + 1), kind="passes", dir=str(passes), compiled=compiled
                )
                assert loaded["type"] == "loaded", loaded
            server.compile()
    finally:
        server.close()


def test_half_a_library_in_the_cache_is_compiled_again(server: ForkServer, tmp_path: Path):
    for attempt in range(2):
        worker = server.fork(cache=str(tmp_path / "cache"))
        loaded = worker.load(
            trace_pattern(lambda x: torch.relu(x) + x.sum()), kind="inductor", mode="default", compiled=True
        )
        assert loaded["type"] == "loaded", loaded
        worker.inputs(0, x=torch.ones(4))
        (result,) = worker.outputs(worker.call(0))
        assert result.tolist() == [5.0] * 4
        libraries = list((tmp_path / "cache/inductor").rglob("*.so"))
        assert libraries
        if attempt == 0:
            for library in libraries:
                library.write_bytes(library.read_bytes()[:100])
                # The worker that left it was killed some time ago.
                os.utime(library, (0, 0))


def test_a_library_without_its_end_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    source, whole = tmp_path / "one.c", tmp_path / "whole.so"
    source.write_text("int one(void) { return 1; }\n")
    subprocess.run(["cc", "-shared", "-o", whole, source], check=True)
    half, young = tmp_path / "half.so", tmp_path / "young.so"
    for library in (half, young):
        library.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    for library in (whole, half):
        os.utime(library, (0, 0))
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    libraries.drop_incomplete()
    # Another worker may be writing the young one.
    assert whole.exists() and young.exists() and not half.exists()


_WITHOUT_ADMINISTRATION = """
import os
from passnet import _native
_native.prepare_namespaces()
for _ in range(2):
    is_left = _native.unshare_child_pid_namespace()
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    if is_left:
        _native.restore_child_pid_namespace()
"""


def test_a_user_without_administration_forks_more_than_one_worker():
    """For an ordinary user, or root of a container: the way back into the PID namespace of the fork server may be closed."""

    def drop() -> None:
        # PR_CAPBSET_DROP of CAP_SYS_ADMIN; an ordinary user, who may not do this, has no administration to drop.
        ctypes.CDLL(None).prctl(24, 21, 0, 0, 0)

    subprocess.run([sys.executable, "-c", _WITHOUT_ADMINISTRATION], preexec_fn=drop, check=True, timeout=60)
