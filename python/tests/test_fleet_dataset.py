"""Stages of the dataset on a Ray cluster on this machine: the files of the local stages, with a task and the driver killed."""

import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

from agent_command import ROOT, binary
from fleet_processes import below, is_zombie, variables, wait_for

SAMPLES = ROOT / "suites/demo"
SECRET = "a-token-that-no-task-may-see"


@pytest.fixture(scope="module", autouse=True)
def _ray():
    pytest.importorskip("ray", reason="needs the package ray (pip install 'passnet[ray]')")


def environment(scratch: Path) -> dict[str, str]:
    return {**os.environ, "RAY_TEST_TOKEN": SECRET, "OPENAI_API_KEY": SECRET, "TMPDIR": str(scratch)}


def hashes(folder: Path) -> dict[str, str]:
    """The hash of each file by its path."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def tasks(root: int, work: str = "shard") -> list[int]:
    """The tasks, or the helpers, of a driver that run now."""
    found = []
    for pid in below(root):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[1:3] == [b"fleet", work.encode()]:
            found.append(pid)
    return found


def start(scratch: Path, *stage: object) -> subprocess.Popen[str]:
    command = [binary(), "fleet", "dataset", *map(str, stage), "--address", "local", "--shard-graphs", "2"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, text=True, env=environment(scratch), **pipes)


def fleet(scratch: Path, *stage: object) -> str:
    driver = start(scratch, *stage)
    out, errors = driver.communicate(timeout=300)
    assert driver.returncode == 0, out + errors
    return out


def local(*stage: object) -> str:
    run = subprocess.run([binary(), "dataset", *map(str, stage)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.fixture
def scratch():
    """A folder with a short path: Ray puts sockets below it, whose paths have at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="pn-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Graphs of the demo suite, one of them twice."""
    folder = tmp_path_factory.mktemp("samples")
    graphs = sorted(path.parent for path in SAMPLES.rglob("graph_net.json"))[:5]
    for number, graph in enumerate([*graphs, graphs[0]]):
        shutil.copytree(graph, folder / f"{number:02}-{graph.name}")
    return folder


@pytest.mark.long
def test_faults_change_no_byte(samples: Path, scratch: Path, tmp_path: Path):
    alone, spread = tmp_path / "alone", tmp_path / "spread"
    words = local("import", samples, "--out", alone)
    assert fleet(scratch, "import", samples, "--out", spread) == words
    assert hashes(spread) == hashes(alone)
    # Nothing new: no cluster is needed, and nothing changes.
    assert fleet(scratch, "import", samples, "--out", spread) == local("import", samples, "--out", alone)

    local("annotate", alone)
    # The driver is killed, with results of some shards on disk.
    driver = start(scratch, "annotate", spread)
    inside = wait_for(lambda: [pid for task in tasks(driver.pid) for pid in (task, *below(task))])
    assert all(SECRET not in variables(pid) and "\0RAY_" not in variables(pid) for pid in inside)
    wait_for(lambda: list(spread.glob(".shards/annotate/*.out")))
    everything = below(driver.pid)
    driver.kill()
    driver.communicate()
    wait_for(lambda: all(is_zombie(pid) for pid in everything), 60)
    results = {path: path.stat().st_mtime_ns for path in spread.glob(".shards/annotate/*.out/annotations/*.parquet")}
    # One of the results was damaged on disk.
    damaged = next(iter(results))
    damaged.write_bytes(damaged.read_bytes()[:-8])

    # The driver is interrupted, and continues: what is whole is not done again.
    driver = start(scratch, "annotate", spread)
    wait_for(lambda: tasks(driver.pid))
    everything = below(driver.pid)
    driver.send_signal(signal.SIGINT)
    assert "run the same command again" in driver.communicate(timeout=60)[1]
    assert driver.returncode == 1
    wait_for(lambda: all(is_zombie(pid) for pid in everything), 60)
    kept = [path for path, written in results.items() if path.exists() and path.stat().st_mtime_ns == written]
    assert set(kept) >= set(results) - {damaged}
    assert not (spread / "annotations").exists()
    # A task is killed, and its shard is tried again.
    driver = start(scratch, "annotate", spread)
    os.kill(wait_for(lambda: tasks(driver.pid))[0], signal.SIGKILL)
    errors = driver.communicate(timeout=300)[1]
    assert driver.returncode == 0 and "is tried again" in errors, errors
    assert hashes(spread) == hashes(alone)
    # Folders of killed tasks were removed by later tasks.
    assert not list(scratch.glob("passnet-shard-*"))

    words = local("fold", alone)
    assert fleet(scratch, "fold", spread) == words
    assert hashes(spread) == hashes(alone)
    assert "subgraphs/part-00000.parquet" in hashes(spread)


BOUNDS = ["--fusible", "2", "--classical", "2", "--single-op", "2", "--graphs", "2", "--other-graphs", "2"]
BOUNDS += ["--counted", "12", "--counted-ops", "6"]


@pytest.mark.long
def test_suites_are_built_with_helpers_that_are_killed(samples: Path, scratch: Path, tmp_path: Path):
    def stage(name: str) -> list[object]:
        return ["build-suites", samples, "--work", tmp_path / name / "work", "--out", tmp_path / name / "out", *BOUNDS]

    words = local(*stage("alone"))
    spread = tmp_path / "spread"
    driver = start(scratch, *stage("spread"))
    # A helper is killed while it works: its question is asked again.
    helpers = wait_for(lambda: [pid for pid in tasks(driver.pid, "helper") if below(pid)] or driver.poll() is not None)
    assert driver.poll() is None, driver.communicate()
    inside = [pid for helper in helpers for pid in (helper, *below(helper))]
    assert all(SECRET not in variables(pid) and "\0RAY_" not in variables(pid) for pid in inside)
    os.kill(helpers[0], signal.SIGKILL)
    # The driver is killed among the counts of kernels, and nothing outlives it.
    wait_for(lambda: list(spread.glob("work/unique/kernels/*.parquet")) or driver.poll() is not None)
    everything = below(driver.pid)
    driver.kill()
    assert "was lost" in driver.communicate()[1]
    wait_for(lambda: all(is_zombie(pid) for pid in everything), 60)
    assert not (spread / "out/passbench-train").exists()
    # The same command continues, and a helper is killed again, among the proofs: what was counted is not counted again.
    driver = start(scratch, *stage("spread"))
    helpers = wait_for(lambda: [pid for pid in tasks(driver.pid, "helper") if below(pid)] or driver.poll() is not None)
    assert driver.poll() is None, driver.communicate()
    os.kill(helpers[0], signal.SIGKILL)
    out, errors = driver.communicate(timeout=500)
    assert driver.returncode == 0, out + errors
    assert out.splitlines()[-1] == words.splitlines()[-1]
    assert hashes(spread) == hashes(tmp_path / "alone")
    assert {"out/passbench-f/tasks/part-00000.parquet", "work/unique/proofs/part-00000.parquet"} <= set(hashes(spread))


@pytest.mark.long
def test_counts_of_kernels_are_those_of_one_machine(samples: Path, scratch: Path, tmp_path: Path):
    alone, spread = tmp_path / "alone", tmp_path / "spread"
    local("import", samples, "--out", alone)
    local("annotate", alone)
    local("fold", alone)
    shutil.copytree(alone, spread)
    for flags in ([], ["--exhaustive"]):
        bounds = ["--most", "6", "--longest", "5", *flags]
        assert fleet(scratch, "kernels", spread, *bounds) == local("kernels", alone, *bounds)
        assert hashes(spread) == hashes(alone)
        shutil.rmtree(alone / "kernels")
        shutil.rmtree(spread / "kernels")


def test_a_sample_that_cannot_be_used_is_reported_as_by_one_machine(samples: Path, tmp_path: Path):
    folder = tmp_path / "samples"
    shutil.copytree(samples, folder)
    (folder / sorted(os.listdir(folder))[1] / "model.py").write_text("this is no module")
    runs = []
    for words, out in ((["dataset"], "alone"), (["fleet", "dataset"], "spread")):
        flags = ["--address", "local", "--shard-graphs", "4"] if len(words) == 2 else []
        command = [binary(), *words, "import", str(folder), "--out", str(tmp_path / out), *flags]
        runs.append(subprocess.run(command, capture_output=True, text=True, check=False))
    assert [run.returncode for run in runs] == [1, 1]
    assert runs[0].stdout == runs[1].stdout
    assert all("model.py" in run.stderr for run in runs)
    assert hashes(tmp_path / "spread") == hashes(tmp_path / "alone")


def test_stages_that_need_all_graphs_say_so(tmp_path: Path):
    command = [binary(), "fleet", "dataset", "import", str(tmp_path), "--out", str(tmp_path / "data")]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode != 0 and "no samples found" in run.stderr
    assert not (tmp_path / "data").exists()
