"""A run over a Ray cluster on this machine, with stations and the driver killed in the middle."""

import contextlib
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from agent_command import QUICK, ROOT, binary

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
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())


def finish(driver: subprocess.Popen[str]) -> str:
    out, errors = driver.communicate(timeout=600)
    assert driver.returncode == 0, out + errors
    return errors


def below(root: int) -> list[int]:
    """The processes below one, as far as they still run."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if fields[0] != "Z":
                parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found, open_ = [], [root]
    while open_:
        children = parents.get(open_.pop(), [])
        found += children
        open_ += children
    return found


def stations(root: int) -> list[int]:
    """The stations of a driver."""
    found = []
    for pid in below(root):
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[1:3] == [b"fleet", b"station"]:
                found.append(pid)
    return found


def events(run: Path) -> list[dict]:
    log = run / "run.jsonl"
    if log.exists():
        return [json.loads(line) for line in log.read_text().splitlines() if line.endswith("}")]
    packed = subprocess.run(["zstd", "-dc", str(run / "run.jsonl.zst")], capture_output=True, check=False)
    return [json.loads(line) for line in packed.stdout.decode().splitlines()]


def verdicts(run: Path) -> list[tuple[str, str, str]]:
    """Task, graph and key of each verdict of a log, in a fixed order; repeated ones are repeated."""
    found = [event for event in events(run) if event["event"] == "verdict"]
    return sorted((event["id"]["task"], event["id"]["graph"], event["key"]) for event in found)


def wait_for(found, seconds: float = 300.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = found()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError("it did not happen")


def variables(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/environ").read_text(errors="replace")
    return ""


def test_faults_change_nothing_in_the_set_of_verdicts(tmp_path: Path):
    alone = tmp_path / "alone"
    for author in ("eager", "noop"):
        command = [binary(), "bench", "run", str(SUITE), *TASKS, *QUICK, "--author", author]
        subprocess.run([*command, "--out", str(alone / author)], check=True, capture_output=True)
    fleet = tmp_path / "fleet"
    names = {"eager": fleet / "demo-eager-cpu", "noop": fleet / "demo-noop-cpu"}

    # A station is killed while it works, then the driver.
    driver = start(fleet)
    working = wait_for(lambda: [pid for pid in stations(driver.pid) if below(pid)])
    inside = [pid for station in stations(driver.pid) for pid in (station, *below(station))]
    assert inside and all(SECRET not in variables(pid) and "\0RAY_" not in variables(pid) for pid in inside)
    wait_for(lambda: any(verdicts(run) for run in names.values() if run.exists()))
    os.kill(working[0], signal.SIGKILL)
    everything = below(driver.pid)
    time.sleep(0.5)
    driver.kill()
    driver.communicate()
    # Nothing outlives it: neither Ray, nor stations, nor their workers.
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() and not is_zombie(pid) for pid in everything), 60)

    finish(start(fleet))
    for author, run in names.items():
        assert verdicts(run) == verdicts(alone / author)
        graphs = [(task, graph) for task, graph, _ in verdicts(run)]
        assert len(graphs) == len(set(graphs)) == 4
        # The log is one that all other commands read.
        subprocess.run([binary(), "score", str(run)], check=True, capture_output=True)
    # A finished run has nothing left to do.
    assert "8 verdicts reused" in finish(start(fleet))


def is_zombie(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return True
