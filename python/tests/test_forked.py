"""Functions in copies of the process: all run, failures and hangs do no harm."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from passnet._backend import forked
from passnet._backend.forked import Forked


def run_all(functions: list, processes: int, seconds: float) -> None:
    with Forked(functions, processes, seconds=seconds) as copies:
        copies.wait()


def test_each_function_runs_once(tmp_path: Path):
    def write(number: int) -> None:
        with (tmp_path / str(number)).open("a") as file:
            file.write("x")

    run_all([lambda number=number: write(number) for number in range(50)], 3, 60)
    assert sorted(int(path.name) for path in tmp_path.iterdir()) == list(range(50))
    assert {path.read_text() for path in tmp_path.iterdir()} == {"x"}


def test_one_function_is_waited_for_while_others_run(tmp_path: Path):
    begin = time.monotonic()
    with Forked([(tmp_path / "first").touch, lambda: time.sleep(600)], 1, seconds=600) as copies:
        copies.wait([0])
        assert (tmp_path / "first").exists()
    # The end of the context kills the copy that sleeps.
    assert time.monotonic() - begin < 60


def test_waiting_ends_with_a_copy_that_ends_itself(tmp_path: Path):
    begin = time.monotonic()
    run_all([lambda: os._exit(1), (tmp_path / "never").touch], 1, 600)
    assert time.monotonic() - begin < 60
    assert not (tmp_path / "never").exists()


def test_failures_and_output_stay_in_the_copy(tmp_path: Path, capfd: pytest.CaptureFixture):
    def fail() -> None:
        print("not seen", flush=True)
        raise ValueError

    run_all([fail, (tmp_path / "after").touch], 1, 60)
    assert (tmp_path / "after").exists()
    assert capfd.readouterr() == ("", "")


def test_copies_that_hang_are_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # On a busy machine, a fork may take so long that there would be no second copy, and a copy takes seconds to start.
    monkeypatch.setattr(forked, "_LONG_FORK_SECONDS", 60.0)
    begin = time.monotonic()
    run_all([lambda: time.sleep(600), (tmp_path / "other").touch], 2, 10)
    assert time.monotonic() - begin < 60
    assert (tmp_path / "other").exists()
