"""Processes and logs of a fleet on this machine, for tests and measurements of faults."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from packed import unpacked


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


def parent(pid: int) -> int:
    """The process that started another one."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def stations(root: int) -> list[int]:
    """The stations of a driver."""
    found = []
    for pid in below(root):
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[1:3] == [b"fleet", b"station"]:
                found.append(pid)
    return found


def events(run: Path) -> list[dict[str, Any]]:
    """The events of a run log, plain or packed."""
    log = run / "run.jsonl"
    if log.exists():
        return [json.loads(line) for line in log.read_text().splitlines() if line.endswith("}")]
    packed = run / "run.jsonl.zst"
    return [json.loads(line) for line in unpacked(packed.read_bytes()).splitlines()] if packed.exists() else []


def verdicts(run: Path) -> list[tuple[str, str, str]]:
    """Task, graph and key of each verdict of a log, in a fixed order; repeated ones are repeated."""
    found = [event for event in events(run) if event["event"] == "verdict"]
    return sorted((event["id"]["task"], event["id"]["graph"], event["key"]) for event in found)


def wait_for(found: Callable[[], Any], seconds: float = 300.0) -> Any:
    """Waits until `found` finds something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = found()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError("it did not happen")


def variables(pid: int) -> str:
    """The environment of a process as it was started; empty if it is gone."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/environ").read_text(errors="replace")
    return ""


def is_zombie(pid: int) -> bool:
    """True if a process has ended, or never was."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return True
