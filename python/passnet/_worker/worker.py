"""A worker: runs one graph at the referee's request (`docs/reference/worker-protocol.md`)."""

from __future__ import annotations

import contextlib
import copy
import gc
import os
import resource
import socket
import time
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

import torch
import torch.fx

from passnet import _native
from passnet._monitor import allocations, census, intercept
from passnet._passes import wire
from passnet._passes.load import PassDirectory
from passnet._passes.rewrite import Rewriting, rewrite
from passnet._worker import errors, libraries, patterns, protocol, tensors, triton_interpreter
from passnet._worker.pools import Pools, let_go
from passnet._worker.static_weights import StaticWeights
from passnet.kernels._device_code import judge_triton

if TYPE_CHECKING:
    from passnet._worker.inductor import DirectGraph
    from passnet.backend import Backend


def serve(sock: socket.socket, sandbox: dict[str, str]) -> None:
    """Answers requests until the end of the stream."""
    worker = Worker(sock.fileno())
    protocol.send(sock, {"type": "ready", "pid": os.getpid(), "sandbox": sandbox})
    while (frame := protocol.receive(sock)) is not None:
        message, descriptor = frame
        if message["type"] == "exit":
            return
        block = None
        try:
            reply, block = worker.answer(message, descriptor)
        except BaseException as error:  # also SystemExit and KeyboardInterrupt of a pass
            reply = errors.describe(error, worker.stage)
            worker.forget_last_call()
        finally:
            if descriptor is not None:
                os.close(descriptor)
        protocol.send(sock, reply, block)
        if block is not None:
            os.close(block)


class Worker:
    """The graph, the candidate and the inputs of this process.

    `gate` is the socket over which the referee sees the beginning and the end of timed calls; `None` without a referee.
    """

    def __init__(self, gate: int | None = None) -> None:
        self.gate = gate
        self.stage = "protocol"
        self.device = torch.device("cpu")
        self.callable: Callable[..., Any] | None = None
        self.rewriting: Rewriting | None = None
        self.backend: Backend | None = None
        self.first_compiles: DirectGraph | None = None
        self.is_eager = False
        self.weights: StaticWeights | None = None
        # Names of inputs that the graph leaves unchanged.
        self.unchanged: Collection[str] = ()
        self.graph: dict[str, Any] = {}
        self.load_ns = 0
        self.first_call_ns: int | None = None
        self.is_inductors = False
        self.sets: dict[int, tensors.InputSet] = {}
        self.pools: Pools | None = None
        self.last: tuple[Any, tensors.InputSet] | None = None
        # Allocations of a checked call of the candidate. Timed calls get the same memory.
        self.allocations: list[tuple[int, torch.device]] = []
        self.guarded_calls = 0

    def answer(self, message: dict[str, Any], descriptor: int | None) -> tuple[dict[str, Any], int | None]:
        """Returns the reply to one request, and the descriptor to send with it (None if there is none)."""
        self.stage = "protocol"
        match message:
            case {"type": "load", "graph": graph, "device": device, "threads": threads, "candidate": candidate}:
                # Set once for this process, before any module of a pass is imported.
                _native.judge_kernels(message.get("judge_kernels", True))
                self.unchanged = frozenset(message.get("unchanged", ()))
                return self.load(graph, device, threads, candidate, message.get("weights", ())), None
            case {"type": "inputs", "set": first, "count": count, "stride": stride, "tensors": layouts} if (
                descriptor is not None
            ):
                self.stage = "transfer"
                fresh = tensors.Layouts(layouts).sets(descriptor, count, stride, self.device)
                self.sets.update(enumerate(fresh, first))
                return {"type": "done"}, None
            case {"type": "pools", "pools": pools} if descriptor is not None:
                self.stage = "transfer"
                self.pools = Pools(pools, descriptor, self.device)
                return {"type": "done"}, None
            case {"type": "drop_inputs"}:
                self.sets.clear()
                self.pools = None
                return {"type": "done"}, None
            case {"type": "call", "set": number, "seed": seed, "watch": watch}:
                return self.call(number, seed, watch)
            case {"type": "call_float64", "set": number, "seed": seed}:
                return self.call_float64(number, seed)
            case {"type": "time"}:
                return self.time(message), None
            case {"type": "fetch"}:
                if self.last is None:
                    raise protocol.ProtocolError("`fetch` without a timed call before it")
                return self.ship(*self.last)
            case {"type": "profile", "set": number, "seed": seed}:
                return self.profile(number, seed), None
            case {"type": "usage"}:
                return self.usage(), None
            case {"type": "patterns", "dir": path, "device": device}:
                _native.judge_kernels(message.get("judge_kernels", True))
                self.stage = "import"
                return {"type": "patterns", "patterns": patterns.of_directory(path, torch.device(device))}, None
            case {"type": "probe", "attempt": attempt, "argument": argument}:
                # Imported here, because evaluations do not need it.
                from passnet._worker import probe

                return probe.run(attempt, argument), None
        raise protocol.ProtocolError(f"unknown or incomplete request `{message['type']}`")

    def forget_last_call(self) -> None:
        if self.last is not None:
            holder = [self.last[0]]
            self.last = None
            let_go(holder)

    def load(
        self,
        graph: dict[str, Any],
        device: str,
        threads: int,
        candidate: dict[str, Any],
        weights: Sequence[str] = (),
    ) -> dict[str, Any]:
        begin = time.monotonic_ns()
        self.stage = "build"
        self.device = torch.device(device)
        torch.set_num_threads(threads)
        if self.device.type == "cuda":
            torch.cuda.set_device(self.device)
        module = wire.to_graph_module(graph)
        self.weights = StaticWeights(module, weights) if weights else None
        self.graph = graph
        built = time.monotonic_ns()
        self.stage = "compile"
        self.prepare(module, candidate)
        self.load_ns, self.first_call_ns = time.monotonic_ns() - built, None
        report = {
            "type": "loaded",
            "build_ns": built - begin,
            "rewrite_ns": self.load_ns,
            "nodes_before": len(graph["nodes"]),
            "nodes_after": len(graph["nodes"]),
            "passes": [],
            "rewritten": None,
            "notes": [],
        }
        if self.rewriting is not None:
            report |= self.rewriting.report()
        return report

    def prepare(self, module: torch.fx.GraphModule, candidate: dict[str, Any]) -> None:
        """Sets the callable for a candidate. For a pass directory, also sets the result of rewriting."""
        self.backend = self.rewriting = self.first_compiles = None
        self.is_eager = candidate.get("kind") == "eager"
        self.is_inductors = candidate.get("kind") == "inductor"
        if self.is_inductors:
            libraries.drop_incomplete()
        if self.is_inductors or candidate.get("compiled") or candidate.get("kind") == "control":
            # Imported here, because this imports Dynamo, which takes seconds. For runs with such candidates, the fork server has done so.
            from passnet._worker.inductor import DirectGraph
            from passnet.backend import Backend
        match candidate:
            case {"kind": "eager"}:
                self.callable = module.forward
            case {"kind": "control"}:
                self.callable = torch.compile(module, backend=Backend([]), dynamic=False)
            case {"kind": "inductor", "mode": mode, "compiled": False}:
                self.callable = self.first_compiles = DirectGraph(module, mode)
            case {"kind": "inductor", "mode": mode}:
                self.callable = torch.compile(module, backend="inductor", mode=mode, dynamic=False)
            case {"kind": "compiler", "name": name, "source": source}:
                # Imported here, because this imports the compiler.
                from passnet._compilers import compiled

                self.callable = compiled(name, source, module)
            case {"kind": "passes", "dir": path, "compiled": compiled}:
                if self.device.type == "cpu":
                    triton_interpreter.enable()
                else:
                    judge_triton()
                self.stage = "import"
                directory = PassDirectory.load(path)
                self.stage = "rewrite"
                rewriting = rewrite(torch.fx.GraphModule(module, copy.deepcopy(module.graph)), directory.passes)
                if any(report.matches for report in rewriting.passes) and directory.uses(
                    triton_interpreter.is_interpreted
                ):
                    rewriting.notes.append("triton_interpreter")
                self.callable = rewriting.module.forward
                if self.weights is not None:
                    self.weights.shared_with(rewriting.module)
                self.rewriting = rewriting
                if compiled:
                    # The rewriting above reports the matches. At the first call, Dynamo captures the graph again for the backend.
                    self.backend = Backend([directory])
                    self.callable = torch.compile(module, backend=self.backend, dynamic=False)
            case _:
                raise protocol.ProtocolError(f"unknown candidate {candidate!r}")

    def call(self, number: int, seed: int, watch: dict[str, bool]) -> tuple[dict[str, Any], int | None]:
        inputs = self.input_set(number)
        arguments = self.arguments(inputs)
        function = self.callable
        around = census.idle() if watch.get("idle", False) else contextlib.nullcontext()
        watching = intercept.Watch(*(watch.get(name, False) for name in ("operators", "poison", "census", "spoil")))
        if watching.spoil and self.backend is not None:
            # The code that Dynamo compiled, because Dynamo may have left this graph, or a part of it, to PyTorch.
            around = self.backend.wrapping(lambda function: intercept.guarded(function, watching))
        elif watching and self.rewriting is not None:
            function = self.rewriting.checked_module(watching).forward
        if function is None:
            raise protocol.ProtocolError("`call` before `load`")
        self.forget_last_call()
        _native.begin_call()
        if watching.poison:
            inputs.guard()
            self.protect(inputs)
        self.stage = "run"
        self.seed_generators(seed)
        begin = time.monotonic_ns()
        with torch.no_grad(), around:
            try:
                if watching.poison:
                    self.guarded_calls += 1
                    result, self.allocations = allocations.guarded(function, arguments, self.guarded_calls)
                else:
                    result = function(*arguments)
            except Exception as error:
                if not (self.is_inductors and libraries.drop_named(str(error))):
                    raise
                torch._dynamo.reset()
                result = function(*arguments)
            self.synchronize()
        if self.first_compiles is not None:
            # Calls the compiled code directly, because the object that compiled it adds time to each call.
            self.callable, self.first_compiles = self.first_compiles.compiled, None
        if self.first_call_ns is None:
            self.first_call_ns = time.monotonic_ns() - begin
        if self.weights is not None:
            self.weights.write_back(inputs.tensors)
        if inputs.is_overrun():
            _native.record_violation("out_of_bounds")
        reply, block = self.ship(result, inputs)
        reply["notes"] += [f"violation:{entry}" for entry in _native.recorded_violations()]
        if self.backend is not None and not watching:
            reply["notes"] += [f"matches:{name}:{count}" for name, count in self.backend.matches.items()]
        return reply, block

    def call_float64(self, number: int, seed: int) -> tuple[dict[str, Any], int | None]:
        """Runs the graph itself in float64 and returns the reply. Only for workers without a candidate's code, which could change the result."""
        # Imported here, because few workers need it.
        from passnet._worker import float64

        if self.callable is None or not self.is_eager:
            raise protocol.ProtocolError("`call_float64` without a graph that runs as it is")
        # In this graph, weights are inputs, even if they are state of the module otherwise.
        function = self.callable if self.weights is None else wire.to_graph_module(self.graph).forward
        self.stage = "run"
        inputs = float64.WideInputs(self.input_set(number))
        self.seed_generators(seed)
        with torch.no_grad(), float64.everything():
            result = function(*inputs.tensors)
        self.synchronize()
        self.stage = "transfer"
        return tensors.ship(result, inputs)

    def time(self, message: dict[str, Any]) -> dict[str, Any]:
        function, pools, windows = self.callable, self.pools, message["windows"]
        if function is None or pools is None:
            raise protocol.ProtocolError("`time` before `load` and `pools`")
        seed, restore = message["seed"], message["restore"]

        # Weights of the module keep their addresses. In all calls of a block, they have the content of the first set.
        arguments = [tuple(self.arguments(pools.sets[0])), tuple(self.data(pools.sets[1]))]

        def set_state(number: int) -> None:
            if self.weights is not None:
                self.weights.take(pools.sets[number].tensors)
            self.seed_generators(seed)

        self.forget_last_call()
        self.protect(*pools.sets)
        self.stage = "run"
        self.seed_generators(seed)
        # The next collection excludes objects that survive this one. Its time counts, and must not depend on a candidate's imports.
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()
        gc.collect()
        gc.freeze()
        gc.disable()
        try:
            with torch.no_grad():
                block = _native.time_calls(
                    function,
                    arguments,
                    pools.sources(windows, restore=restore),
                    message["warmup"],
                    message["trials"],
                    message["calls"],
                    device=pools.timer,
                    cold=message["cache"] == "cold",
                    restore=set_state if restore else None,
                    overwrites=message["overwrite"],
                    allocations=allocations.released(self.allocations, self.device),
                    sample=message.get("sample"),
                    guards=message["overwrite"] and self.rewriting is not None,
                    memories=pools.memories() if message["overwrite"] else [],
                    gate=self.gate,
                )
        finally:
            gc.enable()
        kept = pools.kept(block.pop("set"), message["warmup"] + block["kept_call"], windows)
        self.last = (block.pop("result"), kept)
        return {"type": "timed", **block}

    def usage(self) -> dict[str, Any]:
        """Returns time and memory of the loaded code, for reports."""
        host = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        device = torch.cuda.max_memory_allocated() if self.device.type == "cuda" else 0
        usage = {"load_ns": self.load_ns, "first_call_ns": self.first_call_ns or 0}
        return {"type": "usage", **usage, "host_bytes": host, "device_bytes": device}

    def profile(self, number: int, seed: int) -> dict[str, Any]:
        # Imported here, because evaluations do not need it.
        from passnet._worker import profile

        inputs, function = self.input_set(number), self.callable
        if function is None:
            raise protocol.ProtocolError("`profile` before `load`")
        named = function if self.rewriting is None else self.rewriting.wrapped(profile.named).forward
        self.forget_last_call()
        self.stage = "run"
        inputs.restore()
        self.seed_generators(seed)
        cuda = self.device.type == "cuda"
        return profile.profiled(function, named, self.arguments(inputs), self.synchronize, cuda=cuda)

    def arguments(self, inputs: tensors.InputSet) -> list[torch.Tensor]:
        """Returns the arguments of a call with a set of inputs, and copies the weights of the set to the module."""
        return inputs.tensors if self.weights is None else self.weights.take(inputs.tensors)

    def data(self, inputs: tensors.InputSet) -> list[torch.Tensor]:
        """Returns the arguments of a call with a set of inputs. The weights of the module do not change."""
        return inputs.tensors if self.weights is None else self.weights.data(inputs.tensors)

    def protect(self, *sets: tensors.InputSet) -> None:
        """Makes the inputs that the graph leaves unchanged read-only for C++ kernels in guarded calls."""
        state = [] if self.weights is None else self.weights.memory(self.unchanged)
        _native.protect_inputs(sum((inputs.memory(self.unchanged) for inputs in sets), state))

    def input_set(self, number: int) -> tensors.InputSet:
        try:
            return self.sets[number]
        except KeyError:
            raise protocol.ProtocolError(f"there is no set {number} of inputs") from None

    def ship(self, result: Any, inputs: tensors.InputSet) -> tuple[dict[str, Any], int | None]:
        self.stage = "transfer"
        return tensors.ship(result, inputs)

    def seed_generators(self, seed: int) -> None:
        """Seeds the generators of the devices in use. `torch.manual_seed` queries all backends, which takes half a millisecond."""
        torch.default_generator.manual_seed(seed)
        if self.device.type == "cuda":
            torch.cuda.manual_seed(seed)

    def synchronize(self) -> None:
        if self.device.type == "cuda":
            _native.cuda_synchronize()
