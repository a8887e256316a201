"""Fixtures for several test files."""

from __future__ import annotations

import collections
import json
import os
import shutil
import subprocess
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from server import ForkServer, Worker

REPOSITORY = Path(__file__).resolve().parents[2]

# Files that take longest in one process, slowest first. Started first, they do not keep one process busy after the others have ended.
SLOWEST = (
    "test_guides",
    "test_programs",
    "test_from_scratch",
    "test_install",
    "test_fallback",
    "test_compile_regions",
    "test_fused_math",
    "test_sft_recipe",
    "test_fork_server",
    "test_compile_inductor",
    "test_fleet_cluster",
    "test_grpo_recipe",
    "test_recipes",
    "test_extract",
    "test_trainer_guides",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the slowest files first, then those with the largest numbers of tests. Tests of a file keep their order.

    Tests that are marked as `long` run only on request.
    """
    if not os.environ.get("PASSNET_LONG_TESTS"):
        for item in items:
            if item.get_closest_marker("long"):
                item.add_marker(pytest.mark.skip(reason="takes minutes; set PASSNET_LONG_TESTS=1 to run it"))
    sizes = collections.Counter(item.path for item in items)

    def rank(item: pytest.Item) -> tuple[int, int, str]:
        stem = item.path.stem
        return SLOWEST.index(stem) if stem in SLOWEST else len(SLOWEST), -sizes[item.path], stem

    items.sort(key=rank)


@pytest.fixture(autouse=True)
def _small_calls_stay_compiled(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets `passnet.compile` keep compiled calls of small models, which the model itself may compute faster, so that tests do not depend on
    times. `test_compile_small_calls` tests the decision."""
    name = request.module.__name__
    if (
        name.startswith(("test_compile_", "test_backend_sizes", "test_triton_ready"))
        and name != "test_compile_small_calls"
    ):
        monkeypatch.setattr("passnet._compile.calls._is_close", lambda _: False)


@pytest.fixture(scope="session")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the compiled kernels of all tests: equal kernels are compiled once."""
    return tmp_path_factory.mktemp("kernels")


@pytest.fixture(autouse=True)
def _own_cache(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kernels: Path) -> None:
    """Lets each test of `passnet.compile` write and time its own passes."""
    if request.module.__name__.startswith(("test_compile_", "test_programs")):
        monkeypatch.setenv("PASSNET_CACHE", str(tmp_path))
        monkeypatch.setenv("PASSNET_KERNEL_CACHE", str(kernels))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServer]:
    """A fork server for all tests; each forks its own worker."""
    server = ForkServer(tmp_path_factory.mktemp("workers"))
    server.compile()
    yield server
    server.close()


@pytest.fixture
def worker(server: ForkServer) -> Worker:
    """A separate worker for each test."""
    return server.fork()


@pytest.fixture
def write_passes(tmp_path: Path) -> Callable[..., Path]:
    """Writes a pass directory from sources by file stem; the order is that of `order`, else of the arguments."""

    def write(order: list[str] | None = None, /, **sources: str) -> Path:
        root = tmp_path / "passes"
        root.mkdir()
        for stem, source in sources.items():
            (root / f"{stem}.py").write_text(textwrap.dedent(source))
        (root / "sorted_output_pass_rule_names.json").write_text(json.dumps(order or list(sources)))
        return root

    return write


@pytest.fixture(scope="session")
def passbench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The public PassBench tasks, unpacked."""
    data = Path(os.environ.get("PASSNET_SHARED_DATA", REPOSITORY.parent / "shared/data"))
    archive = data / "passbench-public.tar.zst"
    if not archive.exists():
        pytest.skip(f"{archive.name} is not there; set PASSNET_SHARED_DATA to the directory that has it")
    if shutil.which("zstd") is None:
        pytest.skip("needs the command zstd")
    root = tmp_path_factory.mktemp("passbench")
    with subprocess.Popen(["zstd", "-dc", str(archive)], stdout=subprocess.PIPE) as zstd:
        subprocess.run(["tar", "-x", "-C", str(root)], stdin=zstd.stdout, check=True)
    return root
