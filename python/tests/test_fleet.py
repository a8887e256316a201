"""The part of a fleet that decides without a cluster: which stations there should be, and what they may see."""

import queue
import socket

import pytest

from passnet._fleet.driver import reach
from passnet._fleet.plan import Node, Plan
from passnet._fleet.station import Station, station_command, station_environment

GPUS = Node("a", gpus=8, cpus=64)
CPUS = Node("b", gpus=0, cpus=4)


def test_one_station_per_gpu_and_none_elsewhere():
    plan = Plan("cuda", per_node=1, cores=4)
    started = plan.due([GPUS, CPUS], now=0.0)
    assert [number for number, _ in started] == list(range(8))
    assert plan.due([GPUS, CPUS], now=1.0) == []
    assert plan.resources(GPUS) == {"num_gpus": 1, "num_cpus": 4}
    assert plan.resources(Node("c", gpus=8, cpus=16)) == {"num_gpus": 1, "num_cpus": 2}


def test_a_cluster_without_devices_is_reported():
    assert "has a GPU" in Plan("cuda", per_node=1, cores=4).lack([CPUS])
    assert "of 0 in all" in Plan("cpu", per_node=1, cores=0).lack([])
    assert Plan("cuda", per_node=1, cores=4).lack([CPUS, GPUS]) is None
    assert Plan("cpu", per_node=1, cores=0).lack([CPUS]) is None


def test_stations_on_the_cpu_share_a_node():
    plan = Plan("cpu", per_node=2, cores=0)
    assert len(plan.due([CPUS], now=0.0)) == 2
    assert plan.resources(CPUS) == {"num_gpus": 0, "num_cpus": 1}
    assert plan.wanted(Node("small", gpus=0, cpus=1)) == 1


def test_helpers_fill_the_cores_of_a_node():
    plan = Plan("cpu", per_node=0, cores=3)
    assert plan.wanted(CPUS) == 1 and plan.resources(CPUS) == {"num_gpus": 0, "num_cpus": 3}
    assert Plan("cpu", per_node=0, cores=1).wanted(CPUS) == 4
    assert Plan("cuda", per_node=0, cores=1).wanted(CPUS) == 0


def test_losses_are_replaced_under_new_numbers_after_a_pause_that_grows():
    plan = Plan("cpu", per_node=1, cores=0)
    [(first, _)] = plan.due([CPUS], now=0.0)
    assert plan.lost(first, now=0.0, has_worked=False)
    assert not plan.lost(first, now=0.0, has_worked=False)
    assert plan.due([CPUS], now=1.9) == []
    [(second, _)] = plan.due([CPUS], now=2.0)
    assert second != first
    plan.lost(second, now=2.0, has_worked=False)
    assert plan.due([CPUS], now=5.9) == [] and len(plan.due([CPUS], now=6.0)) == 1
    # One that has worked begins from the shortest pause.
    plan.lost(2, now=6.0, has_worked=True)
    assert len(plan.due([CPUS], now=7.0)) == 1


def test_a_node_that_is_gone_gets_no_station():
    plan = Plan("cuda", per_node=1, cores=0)
    plan.due([GPUS], now=0.0)
    for number in range(8):
        plan.lost(number, now=0.0, has_worked=True)
    assert plan.due([CPUS], now=100.0) == []


def test_a_station_sees_neither_tokens_nor_addresses():
    variables = {
        "PATH": "/bin",
        "CUDA_VISIBLE_DEVICES": "3",
        "RAY_AUTH_TOKEN": "secret",
        "RAY_ADDRESS": "10.0.0.1:6379",
        "OPENAI_API_KEY": "secret",
        "LD_PRELOAD": "x.so",
    }
    assert station_environment(variables, {}, "cuda") == {"PATH": "/bin", "CUDA_VISIBLE_DEVICES": "3"}
    # A station on the CPU has no GPU, even if the node has one.
    assert station_environment(variables, {}, "cpu")["CUDA_VISIBLE_DEVICES"] == ""
    hints = {"PASSNET_SITE": "/", "PASSNET_PYTHON": "/there/is/no/such/python"}
    assert station_environment({}, hints, "cuda") == {"PASSNET_SITE": "/"}


def test_a_node_without_the_command_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("PASSNET_BINARY", raising=False)
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    assert station_command({}, {}) is None
    lines, ended = Station("cpu", {}).fetch(0, 1.0)
    assert (lines, "the command passnet was not found" in ended) == ([], True)


def test_lines_that_come_twice_or_out_of_order_do_no_harm(monkeypatch, tmp_path):
    # `fleet station` of this command repeats its input.
    command = tmp_path / "passnet"
    command.write_text("#!/bin/sh\nexec cat\n")
    command.chmod(0o755)
    monkeypatch.setenv("PASSNET_BINARY", str(command))
    station = Station("cpu", {})
    for number, line in [(1, "b"), (0, "a"), (0, "a"), (2, "c"), (1, "b")]:
        station.send(number, line)
    received: queue.SimpleQueue[str] = queue.SimpleQueue()
    taken = 0
    while taken < 3:
        lines, ended = station.fetch(taken, 5.0)
        assert ended is None
        for place, line in lines:
            if place >= taken:
                received.put(line)
                taken = place + 1
    assert [received.get() for _ in range(3)] == ["a", "b", "c"]
    # An answer that was lost is given again until the next one is asked for.
    assert station.fetch(2, 1.0)[0] == [(2, "c")]
    station.end()
    lines, ended = station.fetch(3, 10.0)
    while ended is None:
        lines, ended = station.fetch(3, 10.0)
    assert (lines, "SIGKILL" in ended) == ([], True)


def test_an_address_where_no_process_listens_is_an_error_at_once():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        reach(f"127.0.0.1:{port}")
        reach(f"ray://127.0.0.1:{port}")
    for address in (f"127.0.0.1:{port}", f"ray://127.0.0.1:{port}"):
        with pytest.raises(ConnectionRefusedError):
            reach(address)
    # Ray says what is wrong with the others.
    for address in ("auto", "local", "nonsense", "http://127.0.0.1:x"):
        reach(address)
