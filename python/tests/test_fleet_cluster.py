"""A run over a Ray cluster on this machine: a station is killed in the middle, the disk gets full, and the driver is killed."""

import os
import resource
import signal
import subprocess
import time
from pathlib import Path

import pytest

from agent_command import QUICK, ROOT, binary
from fleet_processes import below, is_zombie, stations, variables, verdicts, wait_for

SUITE = ROOT / "suites/demo"
TASKS = ["--filter", "gpt2-gelu-tanh", "--filter", "llama-rms-norm", "--graphs-per-task", "2"]
SECRET = "a-token-that-no-worker-may-see"


@pytest.fixture(scope="module", autouse=True)
def _ray():
    pytest.importorskip("ray", reason="needs the package ray (pip install 'passnet[ray]')")


def environment() -> dict[str, str]:
    # The driver, the bridge and all of Ray have the variable.
    return {**os.environ, "RAY_TEST_TOKEN": SECRET, "OPENAI_API_KEY": SECRET}


def start(out: Path, *flags: str) -> subprocess.Popen[str]:
    command = [binary(), "fleet", "run", str(SUITE), *TASKS, *QUICK, "--author", "eager", "--author", "noop"]
    command += ["--address", "local", "--stations-per-node", "2", "--check-every", "0", "--out", str(out), *flags]
    # Python ignores SIGXFSZ, and so does the driver then: a write beyond a limit is an error, as on a full disk.
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "restore_signals": False}
    return subprocess.Popen(command, text=True, env=environment(), **pipes)


def finish(driver: subprocess.Popen[str]) -> str:
    out, errors = driver.communicate(timeout=600)
    assert driver.returncode == 0, out + errors
    return errors


@pytest.mark.long
def test_faults_change_nothing_in_the_set_of_verdicts(tmp_path: Path):
    alone = tmp_path / "alone"
    for author in ("eager", "noop"):
        command = [binary(), "bench", "run", str(SUITE), *TASKS, *QUICK, "--author", author]
        subprocess.run([*command, "--out", str(alone / author)], check=True, capture_output=True)
    fleet = tmp_path / "fleet"
    names = {"eager": fleet / "demo-eager-cpu", "noop": fleet / "demo-noop-cpu"}

    # A station is killed while it works. Then the disk of the driver is full, in the middle of a line of the log.
    driver = start(fleet)
    working = wait_for(lambda: [pid for pid in stations(driver.pid) if below(pid)])
    inside = [pid for station in stations(driver.pid) for pid in (station, *below(station))]
    assert inside and all(SECRET not in variables(pid) and "\0RAY_" not in variables(pid) for pid in inside)
    wait_for(lambda: any(verdicts(run) for run in names.values() if run.exists()))
    os.kill(working[0], signal.SIGKILL)
    full = max((run / "run.jsonl").stat().st_size for run in names.values()) + 100
    resource.prlimit(driver.pid, resource.RLIMIT_FSIZE, (full, full))
    _, errors = driver.communicate(timeout=600)
    assert driver.returncode != 0 and "too large" in errors, errors
    assert not any((run / "run.jsonl").stat().st_size > full for run in names.values())

    # The same command continues the run, until its driver is killed.
    driver = start(fleet)
    wait_for(lambda: [pid for pid in stations(driver.pid) if below(pid)])
    everything = below(driver.pid)
    time.sleep(0.5)
    driver.kill()
    driver.communicate()
    # Nothing outlives it: neither Ray, nor stations, nor their workers.
    wait_for(lambda: all(is_zombie(pid) for pid in everything), 60)

    finish(start(fleet))
    for author, run in names.items():
        assert verdicts(run) == verdicts(alone / author)
        graphs = [(task, graph) for task, graph, _ in verdicts(run)]
        assert len(graphs) == len(set(graphs)) == 4
        # The log is one that all other commands read.
        subprocess.run([binary(), "score", str(run)], check=True, capture_output=True)
    # A finished run has nothing left to do.
    assert "8 verdicts reused" in finish(start(fleet))
