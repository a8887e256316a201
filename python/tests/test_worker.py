"""Fork server and workers end to end, with the real torch."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from passnet._passes.trace import trace_pattern as trace
from passnet._worker import protocol
from server import ForkServer, Worker

WritePasses = Callable[..., Path]

ADD_RELU = """
import torch

def pattern(x, y):
    return torch.nn.functional.relu(x + y)

def replacement_args(x, y):
    return (x, y)

def add_relu(x, y):
    BODY

def replacement_func():
    return add_relu
"""

CPP = '''
from passnet import kernels

kernel = kernels.cpp(
    """
    void add_relu(const float* x, const float* y, float* out, int64_t n) {
        for (int64_t i = 0; i < n; ++i) out[i] = std::max(x[i] + y[i], 0.0f);
    }
    """,
    "void add_relu(const float* x, const float* y, float* out, int64_t n)",
)
'''
CPP_BODY = "out = torch.empty_like(x); kernel(x, y, out, x.numel()); return out"

TRITON = """
import triton
import triton.language as tl

@triton.autotune(configs=[triton.Config({"B": 64}), triton.Config({"B": 128})], key=["n"])
@triton.jit
def kernel(x, y, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    inside = at < n
    total = tl.load(x + at, inside) + tl.load(y + at, inside)
    tl.store(out + at, tl.maximum(total, 0.0), inside)
"""
TRITON_BODY = """\
out = torch.empty_like(x)
    kernel[lambda meta: (triton.cdiv(x.numel(), meta["B"]),)](x, y, out, x.numel())
    return out
"""


def model(x: torch.Tensor, y: torch.Tensor) -> tuple:
    return F.relu(x + y, inplace=False), x.sum()


X, Y = torch.randn(8, 16), torch.randn(8, 16)


def check_results(worker: Worker, **call: object) -> dict:
    assert worker.inputs(0, x=X, y=Y) == {"type": "done"}
    reply = worker.call(**call)
    relu, total = worker.outputs(reply)
    torch.testing.assert_close(relu, F.relu(X + Y))
    torch.testing.assert_close(total, X.sum())
    return reply


def test_ready_messages_say_who_speaks(server: ForkServer, worker: Worker):
    assert server.ready["protocol"] == protocol.VERSION
    assert server.ready["versions"]["torch"] == torch.__version__
    assert worker.ready == {"type": "ready", "pid": worker.pid, "sandbox": {}}


@pytest.mark.parametrize("candidate", [{"kind": "eager"}, {"kind": "control"}], ids=lambda candidate: candidate["kind"])
def test_graphs_run_eagerly_and_through_the_backend(worker: Worker, candidate: dict):
    loaded = worker.load(trace(model), **candidate)
    assert (loaded["type"], loaded["nodes_before"], loaded["passes"]) == ("loaded", 3, [])
    check_results(worker)
    worker.pools(x=X, y=Y)
    timed = worker.time()
    assert len(timed["e2e_ns"]) == 5
    assert timed["device_ns"] == []
    assert timed["total_ns"] >= sum(timed["e2e_ns"])
    torch.testing.assert_close(worker.outputs(worker.request("fetch"))[0], F.relu(X + Y))


def test_results_are_read_by_the_methods_of_their_type(worker: Worker, write_passes: WritePasses):
    body = """\
out = torch.relu(x + y).t().contiguous().t()
    out.stride = lambda: (16, 1)
    out.detach = lambda: torch.zeros(8, 16)
    out.data_ptr = lambda: 0
    return out
"""
    directory = write_passes(add_relu=ADD_RELU.replace("BODY", body))

    def relu(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return F.relu(x + y)

    worker.load(trace(relu), kind="passes", dir=str(directory), compiled=False)
    worker.inputs(0, x=X, y=Y)
    reply = worker.call()
    (value,) = reply["values"]
    assert value["stride"] == [1, 8] and value["address"] != 0
    torch.testing.assert_close(worker.outputs(reply)[0], F.relu(X + Y))


def test_a_graph_runs_in_float64(worker: Worker):
    def graph(x: torch.Tensor, y: torch.Tensor) -> tuple:
        y.add_(1)
        half = (x @ y.t()).to(torch.float16)
        return half.softmax(-1, dtype=torch.float32), torch.full((2,), 0.1), half > 0

    def wide(x: torch.Tensor, y: torch.Tensor) -> tuple:
        product = x.double() @ (y.double() + 1).t()
        return product.softmax(-1), torch.full((2,), 0.1, dtype=torch.float64), product > 0

    worker.load(trace(graph), kind="eager")
    worker.inputs(0, x=X, y=Y)
    worker.call()
    reply = worker.request("call_float64", set=0, seed=0)
    for got, expected in zip(worker.outputs(reply), wide(X, Y), strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-15, atol=1e-15)
    (changed,) = reply["mutated"]
    assert changed["name"] == "y"
    torch.testing.assert_close(worker.tensor(changed), Y.double() + 1)
    half = worker.outputs(worker.call())[0]
    assert half.dtype == torch.float32, "other calls are as before"


def test_what_has_no_float64_form_says_why(worker: Worker, write_passes: WritePasses):
    worker.load(trace(lambda x, y: (x.view(torch.int32), y)), kind="eager")
    worker.inputs(0, x=X, y=Y)
    reply = worker.request("call_float64", set=0, seed=0)
    assert (reply["type"], reply["fatal"]) == ("failed", False)
    assert "reinterprets" in reply["message"]
    directory = write_passes(add_relu=CPP + ADD_RELU.replace("BODY", CPP_BODY))
    worker.load(trace(model), kind="passes", dir=str(directory), compiled=False)
    assert "runs as it is" in worker.request("call_float64", set=0, seed=0)["message"]


@pytest.mark.parametrize("compiled", [True, pytest.param(False, marks=pytest.mark.long)])
def test_inductor_compiles_in_a_worker(worker: Worker, compiled: bool):
    assert worker.load(trace(model), kind="inductor", mode="default", compiled=compiled)["type"] == "loaded"
    check_results(worker)
    check_results(worker)
    worker.pools(x=X, y=Y)
    assert worker.time()["type"] == "timed"


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("head", "body", "notes", "violations"),
    [
        ("", "return torch.clamp(x + y, min=0)", [], ["violation:aten.add", "violation:aten.clamp"]),
        (CPP, CPP_BODY, [], []),
        (TRITON, TRITON_BODY, ["triton_interpreter"], []),
    ],
    ids=["torch", "cpp", "triton"],
)
def test_passes_run_directly_and_compiled(
    worker: Worker,
    write_passes: WritePasses,
    compiled: bool,
    head: str,
    body: str,
    notes: list[str],
    violations: list[str],
):
    directory = write_passes(add_relu=head + ADD_RELU.replace("BODY", body))
    loaded = worker.load(trace(model), kind="passes", dir=str(directory), compiled=compiled)
    assert loaded["type"] == "loaded", loaded
    assert loaded["passes"] == [{"name": "add_relu", "matches": 1, "nearest": None}]
    assert (loaded["nodes_before"], loaded["nodes_after"], loaded["notes"]) == (3, 2, notes)
    assert "add_relu" in loaded["rewritten"]
    assert check_results(worker)["notes"] == (["matches:add_relu:1"] if compiled else [])
    assert check_results(worker, intercept=True)["notes"] == violations


def test_a_profile_names_operators_replacements_and_kernels(worker: Worker, write_passes: WritePasses):
    directory = write_passes(add_relu=CPP + ADD_RELU.replace("BODY", CPP_BODY))
    for candidate, names in (
        ({"kind": "eager"}, {"aten::add", "aten::relu", "aten::sum"}),
        ({"kind": "passes", "dir": str(directory), "compiled": False}, {"replacement add_relu", "aten::sum"}),
    ):
        worker.load(trace(model), **candidate)
        worker.inputs(0, x=X, y=Y)
        profile = worker.request("profile", set=0, seed=0)
        assert (profile["type"], profile["device"]) == ("profiled", [])
        assert names <= {row["name"] for row in profile["host"]}
        assert all(row["count"] > 0 for row in profile["host"])
        assert profile["wall_ns"] > 0 and sum(row["total_ns"] for row in profile["host"]) > 0
    kernels = [row["name"] for row in profile["host"] if row["name"].startswith("kernel ")]
    assert len(kernels) == 1
    assert not any(row["name"] in ("aten::add", "aten::relu") for row in profile["host"])


def test_a_function_of_torch_as_replacement_is_watched_too(worker: Worker, write_passes: WritePasses):
    text = ADD_RELU.replace("BODY", "return x").replace("relu(x + y)", "mse_loss(x, y)")
    directory = write_passes(loss=text.replace("return add_relu", "return torch.nn.functional.mse_loss"))
    loaded = worker.load(trace(lambda x, y: (F.mse_loss(x, y),)), kind="passes", dir=str(directory), compiled=False)
    assert loaded["passes"][0]["matches"] == 1, loaded
    worker.inputs(0, x=X, y=Y)
    assert worker.call(intercept=True)["notes"] == ["violation:aten.mse_loss"]


def test_a_miss_is_explained(worker: Worker, write_passes: WritePasses):
    directory = write_passes(add_relu=ADD_RELU.replace("BODY", "return x"))
    loaded = worker.load(trace(lambda x, y: (F.relu(x - y),)), kind="passes", dir=str(directory), compiled=False)
    (report,) = loaded["passes"]
    assert report["matches"] == 0
    assert (report["nearest"]["what"], report["nearest"]["node"]) == ("target", "sub")


def test_what_a_call_changes_and_shares_is_reported(worker: Worker):
    def mutating(x: torch.Tensor, y: torch.Tensor) -> tuple:
        return x.add_(1), y, y.view(-1), None, x.shape[0], torch.empty((0, 3)), x.shape

    worker.load(trace(mutating), kind="eager")
    worker.inputs(0, x=X, y=Y.bfloat16())
    reply = worker.call()
    kinds = [value["kind"] for value in reply["values"]]
    assert kinds == ["tensor", "tensor", "tensor", "none", "scalar", "tensor", "other"]
    assert reply["values"][4]["value"] == 8
    assert reply["values"][6]["type_name"] == "torch.Size"
    assert reply["notes"] == ["aliases_input:0:x", "aliases_input:1:y", "aliases_input:2:y", "aliases_output:2:1"]
    (mutated,) = reply["mutated"]
    assert mutated["name"] == "x"
    torch.testing.assert_close(worker.tensor(mutated), X + 1)
    torch.testing.assert_close(worker.tensor(reply["values"][1]["layout"]), Y.bfloat16())

    worker.pools(x=X, y=Y.bfloat16())
    worker.time(restore=True)
    torch.testing.assert_close(worker.tensor(worker.request("fetch")["mutated"][0]), X + 1)
    worker.pools(x=X, y=Y.bfloat16())
    worker.time(restore=False, warmup=1, trials=1)
    torch.testing.assert_close(worker.tensor(worker.request("fetch")["mutated"][0]), X + 2)


def test_seeds_decide_random_numbers(worker: Worker):
    worker.load(trace(lambda x: (F.dropout(x),)), kind="eager")
    worker.inputs(0, x=torch.ones(1000))
    first, again, other = (worker.outputs(worker.call(seed=seed))[0] for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize(
    ("source", "stage", "exception"),
    [
        ("import os; raise SystemExit(3)", "import", "SystemExit"),
        ("from passnet import kernels; kernels.cpp('void f() { x; }', 'void f()')", "compile", "KernelCompileError"),
        ("raise MemoryError", "import", "MemoryError"),
        ("class E(BaseException): pass\nraise E('odd')", "import", "E"),
    ],
)
def test_a_broken_pass_leaves_the_worker_alive(
    worker: Worker, write_passes: WritePasses, source: str, stage: str, exception: str
):
    failed = worker.load(trace(model), kind="passes", dir=str(write_passes(rule=source)), compiled=True)
    assert (failed["type"], failed["stage"], failed["exception"]) == ("failed", stage, exception)
    assert (failed["pass"], failed["fatal"]) == ("rule", False)
    worker.load(trace(model), kind="eager")
    check_results(worker)


def test_errors_of_a_replacement_name_its_lines_only(worker: Worker, write_passes: WritePasses):
    directory = write_passes(rule=ADD_RELU.replace("BODY", "return x.view(3)"))
    worker.load(trace(model), kind="passes", dir=str(directory), compiled=False)
    worker.inputs(0, x=X, y=Y)
    worker.pools(x=X, y=Y)
    for failed in (worker.call(), worker.time()):
        assert (failed["stage"], failed["exception"]) == ("run", "RuntimeError")
        assert "return x.view(3)" in failed["traceback"]
        assert "passnet/_worker/" not in failed["traceback"]
    assert worker.request("fetch")["stage"] == "protocol"


def test_malformed_requests_are_answered(worker: Worker):
    graph = {"version": 1, "inputs": [], "nodes": [], "outputs": [{"ref": 5}]}
    load = {"graph": graph, "device": "cpu", "threads": 1, "candidate": {"kind": "eager"}}
    assert worker.request("load", **load)["stage"] == "build"
    assert worker.request("call", set=0)["stage"] == "protocol"
    assert worker.request("nonsense")["message"] == "unknown or incomplete request `nonsense`"


def test_memory_is_limited(server: ForkServer):
    worker = server.fork(memory_bytes=64 << 20)
    worker.load(trace(lambda x: (x.repeat(1 << 26),)), kind="eager")
    worker.inputs(0, x=torch.ones(1))
    assert worker.call()["exception"] == "OutOfMemoryError"


def test_nothing_outlives_a_worker(server: ForkServer, write_passes: WritePasses, tmp_path: Path):
    # A pass that leaves a process in a separate session behind.
    source = f"""
    import os, time
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            open({str(tmp_path / "pid")!r}, "w").write(str(os.getpid()))
            time.sleep(600)
        os._exit(0)
    while not (os.path.exists({str(tmp_path / "pid")!r}) and os.path.getsize({str(tmp_path / "pid")!r})):
        time.sleep(0.01)
    print("to the log")
    """
    worker = server.fork()
    worker.load(trace(model), kind="passes", dir=str(write_passes(rule=source)), compiled=False)
    orphan = int((tmp_path / "pid").read_text())
    os.kill(orphan, 0)
    worker.sock.close()
    assert server.wait_for("exited", worker.number) == {
        "type": "exited",
        "id": worker.number,
        "code": 0,
        "signal": None,
    }
    deadline = time.monotonic() + 10
    while os.path.exists(f"/proc/{orphan}"):
        assert time.monotonic() < deadline, "the orphan is still there"
        time.sleep(0.01)


def test_a_crash_is_reported_as_a_signal(server: ForkServer, write_passes: WritePasses):
    worker = server.fork()
    source = "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)"
    with pytest.raises(AssertionError):
        worker.load(trace(model), kind="passes", dir=str(write_passes(rule=source)), compiled=False)
    assert server.wait_for("exited", worker.number)["signal"] == 11


def test_the_end_of_the_server_is_the_end_of_its_workers(tmp_path: Path):
    server = ForkServer(tmp_path)
    worker = server.fork()
    server.close()
    assert not os.path.exists(f"/proc/{worker.pid}")


def test_spares_serve_like_any_worker(server: ForkServer):
    def prepare(spares: int) -> list[int]:
        protocol.send(server.control, {"type": "prepare", "spares": spares, "cores": [min(os.sched_getaffinity(0))]})
        while (reply := server.receive())["type"] != "prepared":
            pass
        return reply["pids"]

    before = prepare(2)
    assert prepare(1) == before
    # One that has died while it waited is not a loss.
    os.kill(before[-1], signal.SIGKILL)
    while os.path.exists(f"/proc/{before[-1]}"):
        time.sleep(0.01)
    workers = [server.fork(), server.fork()]
    assert before[0] in [worker.pid for worker in workers]
    for worker in workers:
        # Threads would keep it from confining itself.
        assert os.listdir(f"/proc/{worker.pid}/task") == [str(worker.pid)]
        assert os.sched_getaffinity(worker.pid) == os.sched_getaffinity(0)
        worker.load(trace(model), kind="eager")
        check_results(worker)
