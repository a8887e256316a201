"""Hostile code in a real worker: what the sandbox stops, and what has to work inside."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import passnet
from server import ForkServer, Worker

HELD = "enforced"


@pytest.fixture(scope="module")
def confined(server: ForkServer) -> Worker:
    return server.fork(sandbox=True)


def needs(worker: Worker, *layers: str) -> None:
    """Skips where the machine lacks a layer, with what it said."""
    for layer in layers:
        if (reached := worker.ready["sandbox"][layer]) != HELD:
            pytest.skip(f"{layer} {reached}")


def stopped(worker: Worker, attempt: str, argument: object = "") -> str:
    reply = worker.request("probe", attempt=attempt, argument=str(argument))
    assert reply["type"] == "probed" and not reply["done"], reply
    return reply["detail"]


def achieved(worker: Worker, attempt: str, argument: object = "") -> str:
    reply = worker.request("probe", attempt=attempt, argument=str(argument))
    assert reply["type"] == "probed" and reply["done"], reply
    return reply["detail"]


def test_files_outside_are_not_read(confined: Worker, tmp_path: Path) -> None:
    needs(confined, "landlock")
    secret = tmp_path / "secret"
    secret.write_text("x")
    assert "Permission denied" in stopped(confined, "read", secret)
    assert "Permission denied" in stopped(confined, "link", secret)
    assert "Permission denied" in stopped(confined, "list", tmp_path)
    stopped(confined, "read", "/etc/shadow")
    stopped(confined, "block_devices")
    stopped(confined, "start_own_program")


def test_nothing_outside_is_written(confined: Worker, tmp_path: Path) -> None:
    needs(confined, "read_only_mounts")
    mine = tmp_path / "mine"
    mine.write_text("x")
    for attempt in ("write", "change_mode", "change_time"):
        assert "Read-only" in stopped(confined, attempt, mine), attempt
    stopped(confined, "write", tmp_path / "new")
    stopped(confined, "system_setting", "/proc/sys/kernel/core_pattern")
    # The private shared memory is no way to another world.
    achieved(confined, "write", f"/dev/shm/passnet-test-{os.getpid()}")
    assert not Path(f"/dev/shm/passnet-test-{os.getpid()}").exists()


def test_other_processes_are_out_of_reach(confined: Worker, server: ForkServer) -> None:
    needs(confined, "process_namespace", "private_proc")
    stopped(confined, "environments")
    for attempt in ("signal_parent", "signal_all"):
        stopped(confined, attempt)
    for pid in (os.getpid(), server.process.pid):
        for attempt in ("signal", "trace", "foreign_memory"):
            stopped(confined, attempt, pid)
    assert "process 1" in achieved(confined, "python")


def test_there_is_no_network(confined: Worker, tmp_path: Path) -> None:
    needs(confined, "seccomp")
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket(socket.AF_UNIX) as local:
        local.bind(str(tmp_path / "s"))
        local.listen()
        port = listener.getsockname()[1]
        for attempt, argument in (("connect", port), ("datagram", port), ("unix", tmp_path / "s"), ("netlink", "")):
            stopped(confined, attempt, argument)


def test_the_kernel_is_out_of_reach(confined: Worker) -> None:
    needs(confined, "seccomp")
    for attempt in ("namespace", "mount", "affinity", "outlive_parent"):
        stopped(confined, attempt)
    for number in (425, 321, 298, 250, 323, 101, 310):  # io_uring, bpf, perf, keyctl, userfaultfd, ptrace, process_vm
        assert "Errno 38" in stopped(confined, "system_call", number), number


def test_only_its_own_channel_is_open(confined: Worker) -> None:
    stopped(confined, "descriptors")
    stopped(confined, "variables", "PASSNET_TEST_SECRET")


def test_what_passes_need_works_inside(confined: Worker) -> None:
    assert "262144" in achieved(confined, "torch", "cpu")
    assert "16" in achieved(confined, "cpp")
    assert "worker" in achieved(confined, "name_thread")


def test_a_compiler_that_is_a_script_works_inside(tmp_path: Path) -> None:
    """Some images have the compiler in a separate place, behind a script that adds its directories."""
    programs = tmp_path / "compiler" / "bin"
    programs.mkdir(parents=True)
    (programs / "really").symlink_to(os.path.realpath(shutil.which("c++") or "c++"))
    script = programs / "c++"
    script.write_text(f'#!/bin/sh\nexec {programs}/really "$@"\n')
    script.chmod(0o755)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    confine = f"""
import subprocess
from pathlib import Path
from passnet._worker import sandbox
sandbox = sandbox.Places().sandbox(Path({str(scratch)!r}), [], [], False)
sandbox.enter()
sandbox.seal()
print(subprocess.run([{str(script)!r}, "--version"], capture_output=True, text=True, check=True).stdout)
"""
    environment = os.environ | {"CXX": str(script), "PYTHONPATH": str(Path(passnet.__file__).parents[1])}
    run = subprocess.run([sys.executable, "-c", confine], capture_output=True, text=True, env=environment)
    assert run.stdout.startswith("really"), run.stderr


def test_limits_hold(server: ForkServer) -> None:
    worker = server.fork(sandbox=True)
    needs(worker, "read_only_mounts")
    stopped(worker, "fill_disk", 2 << 30)
    stopped(server.fork(sandbox=True, memory_bytes=1 << 30), "take_private_memory", 2 << 30)
    worker = server.fork(sandbox=True, cpu_s=1)
    with pytest.raises((AssertionError, ConnectionError)):
        worker.request("probe", attempt="burn", argument="30")
    assert server.wait_for("exited", worker.number)["signal"] == 24


def test_a_daemon_dies_with_its_worker(server: ForkServer) -> None:
    worker = server.fork(sandbox=True)
    needs(worker, "process_namespace")
    name = f"pn{os.getpid()}"
    achieved(worker, "leave_daemon", name)
    assert running(name)
    os.kill(worker.pid, 9)
    server.wait_for("exited", worker.number)
    assert not running(name)


def running(name: str) -> bool:
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "comm").read_text().strip() == name:
                return True
        except OSError:
            continue
    return False


def test_workers_with_a_shared_cache_are_confined_too(server: ForkServer, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    worker = server.fork(sandbox=True, cache=str(cache))
    needs(worker, "landlock", "read_only_mounts")
    achieved(worker, "write", cache / "kernel")
    stopped(worker, "write", tmp_path / "elsewhere")
    assert (cache / "kernel").read_text() == "x"
    achieved(worker, "name_thread")


def test_a_worker_without_sandbox_shows_that_the_attempts_are_real(server: ForkServer, tmp_path: Path) -> None:
    worker = server.fork()
    assert worker.ready["sandbox"] == {}
    (tmp_path / "secret").write_text("x")
    achieved(worker, "read", tmp_path / "secret")
    achieved(worker, "write", tmp_path / "new")
    achieved(worker, "signal", os.getpid())
    achieved(worker, "environments")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        achieved(worker, "connect", listener.getsockname()[1])
