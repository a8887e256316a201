"""The fork server: imports torch once, then forks a worker per request (`docs/reference/worker-protocol.md`).

The process stays safe to fork: it never initialises CUDA, never runs a multi-threaded operator and never loads a pass. On request it
compiles, but only a graph of PassNet.
"""
# ruff: noqa: E402 - settings that the imports read come before them

from __future__ import annotations

import collections
import contextlib
import gc
import importlib
import os
import resource
import select
import signal
import socket
import sys
from pathlib import Path
from typing import Any, NoReturn

# Set before torch is imported. Otherwise Inductor would start a pool of compile processes, which a forked worker could not use.
os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
# Triton reads this variable when a kernel is defined, also for kernels of its own library. So it is set before the first import.
if not os.path.exists("/dev/nvidiactl"):
    os.environ["TRITON_INTERPRET"] = "1"
# Makes torch ask the management library whether there is a GPU. Asking the driver would initialise the driver, and a forked child
# of such a process cannot use CUDA.
os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"

# No collections during imports: they find no garbage, and each would visit all objects.
gc.disable()

# Imported before torch, which starts threads. After that, a user other than root could not enter a sandbox.
from passnet._worker import sandbox  # isort: skip

import torch
import torch.fx

from passnet import _native
from passnet._worker import protocol, rehearsal, worker

LOG_NAME = "output.log"

_HAS_GPU = os.path.exists("/dev/nvidiactl")

# Dynamo imports its last module with its first graph. It must not run here if there is a GPU: it asks for the current accelerator, which
# initialises CUDA.
_DYNAMO = ("passnet.backend", "torch._dynamo.repro.after_dynamo", "torch._inductor.codecache")

# Passes import Triton. Where it may compile for a GPU, Dynamo and TorchInductor import all parts of it that workers need.
_NEEDED = ("triton.language", *(_DYNAMO if _HAS_GPU else ()))

# Namespaces that a worker enters later.
_NAMESPACES = ("net:", "ipc:", "uts:")


def main(control: int) -> NoReturn:
    """Serves requests on the socket with descriptor `control` until the other side closes it."""
    torch.set_num_threads(1)
    with contextlib.suppress(ImportError):  # Triton is optional.
        for name in _NEEDED:
            importlib.import_module(name)
    rehearsal.warm_up()
    _settle()
    _native.set_child_subreaper()
    server = _Server(socket.socket(fileno=control))
    server.announce()
    try:
        server.serve()
    finally:
        server.kill_all()
        os._exit(0)


class _Server:
    def __init__(self, control: socket.socket) -> None:
        self.control = control
        self.workers: dict[int, int] = {}  # process id -> id of the request
        # For each spare worker, by process id: the socket for its request, and whether it has a new PID namespace.
        self.spares: dict[int, tuple[socket.socket, bool]] = {}
        self.wanted = collections.deque([False], maxlen=16)  # Whether the last workers had a new PID namespace.
        self.places = sandbox.Places()
        self.wake_read, self.wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(self.wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def announce(self) -> None:
        versions = {"python": sys.version.split()[0], "torch": torch.__version__, "passnet": _native.VERSION}
        if torch.version.cuda:
            versions["cuda"] = torch.version.cuda
        if triton := sys.modules.get("triton"):
            versions["triton"] = triton.__version__
        self.send({"type": "ready", "protocol": protocol.VERSION, "pid": os.getpid(), "versions": versions})

    def send(self, message: dict[str, Any]) -> None:
        protocol.send(self.control, message)

    def serve(self) -> None:
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        poll.register(self.wake_read, select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in poll.poll()}
            if self.wake_read in ready:
                os.read(self.wake_read, 4096)
                self.reap()
            if self.control.fileno() in ready:
                frame = protocol.receive(self.control)
                match frame:
                    case None | ({"type": "exit"}, _):
                        return
                    case ({"type": "fork"} as request, int(descriptor)):
                        self.fork(request, descriptor)
                    case ({"type": "prepare", "spares": count, "cores": cores}, _):
                        self.prepare(count, cores)
                    case ({"type": "compile", "cache": cache}, _):
                        self.compile(Path(cache) if cache else None)
                    case (message, _):
                        raise protocol.ProtocolError(f"unknown or incomplete request `{message['type']}`")

    def compile(self, cache: Path | None) -> None:
        """Imports Dynamo and, with a cache, sets up TorchInductor, so that workers that are forked later have them, with their tables filled."""
        # Existing spares do not have the compiler, so they end.
        while self.spares:
            pid, (sock, _) = self.spares.popitem()
            sock.close()
            _kill(pid)
        gc.disable()
        # Imported here, because this takes seconds and only workers that compile need it.
        for name in _DYNAMO if cache is None else (*_DYNAMO, "torch._inductor.compile_fx"):
            importlib.import_module(name)
        _settle()
        if cache is not None and not _HAS_GPU:
            _keep_inductors_files_in(cache / "inductor")
            try:
                rehearsal.rehearse_compiler()
            except Exception:  # The worker that compiles raises the same error and reports it.
                sys.excepthook(*sys.exc_info())
        self.send({"type": "compiled"})

    def fork(self, request: dict[str, Any], descriptor: int) -> None:
        """Gives a request to a spare worker of the right kind, or to a new worker."""
        # Workers that share a cache need different numbers, because temporary names in the cache contain them.
        new_pid_namespace = request["sandbox"] and not request["cache"]
        self.wanted.append(new_pid_namespace)
        pid = None
        while pid is None:
            pid = next((pid for pid, (_, kind) in self.spares.items() if kind == new_pid_namespace), None)
            if pid is not None:
                sock, _ = self.spares.pop(pid)
            else:
                pid, sock = self.spawn_worker(new_pid_namespace=new_pid_namespace, warm=False)
            with sock:
                try:
                    protocol.send(sock, request, descriptor)
                except OSError:  # The spare worker has ended while it waited.
                    pid = None
        os.close(descriptor)
        self.workers[pid] = request["id"]
        self.send({"type": "forked", "id": request["id"], "pid": pid})

    def prepare(self, count: int, cores: list[int]) -> None:
        """Forks until `count` spare workers wait. They run on the cores in `cores`, if there are any."""
        everywhere = os.sched_getaffinity(0)
        os.sched_setaffinity(0, everywhere.intersection(cores) or everywhere)
        # The spares get the kinds of the last workers, beginning with the most recent.
        kinds = collections.Counter(self.wanted[-1 - i % len(self.wanted)] for i in range(count))
        for new_pid_namespace in (kinds - collections.Counter(kind for _, kind in self.spares.values())).elements():
            pid, sock = self.spawn_worker(new_pid_namespace=new_pid_namespace, warm=True, cores=everywhere)
            self.spares[pid] = (sock, new_pid_namespace)
        os.sched_setaffinity(0, everywhere)
        self.send({"type": "prepared", "pids": list(self.spares)})

    def spawn_worker(
        self, *, new_pid_namespace: bool, warm: bool, cores: set[int] | None = None
    ) -> tuple[int, socket.socket]:
        """Forks a worker that waits for its request. Returns its process id and the socket for the request.

        With `new_pid_namespace`, the worker is process 1 of a new PID namespace if the machine allows it.
        """
        new_pid_namespace = new_pid_namespace and _native.unshare_child_pid_namespace()
        # In a new PID namespace, the process id of the worker's parent is 0.
        parent = 0 if new_pid_namespace else os.getpid()
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            _run_worker(theirs, parent, self.places, warm=warm, cores=cores)
        if new_pid_namespace:
            _native.restore_child_pid_namespace()
        theirs.close()
        return pid, ours

    def reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            worker = self.workers.pop(pid, None)
            self.spares.pop(pid, None)
            # Processes that a worker leaves behind become children of this process (subreaper), and so do their children. None of them
            # may outlive the worker.
            self.kill_orphans()
            if worker is None:
                continue
            code = os.waitstatus_to_exitcode(status)
            if code > 128:  # The worker ended itself: process 1 of a namespace survives the signal.
                code = 128 - code
            exited = {"code": code, "signal": None} if code >= 0 else {"code": None, "signal": -code}
            self.send({"type": "exited", "id": worker, **exited})

    def kill_orphans(self) -> None:
        pid = os.getpid()
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            if int(child) not in self.workers and int(child) not in self.spares:
                _kill(int(child))

    def kill_all(self) -> None:
        self.control.close()
        self.workers.clear()
        self.spares.clear()
        try:
            while True:
                self.kill_orphans()
                os.waitpid(-1, 0)
        except ChildProcessError:
            pass


def _settle() -> None:
    """Excludes all present objects from garbage collection.

    Workers collect before each block of timed calls. Such a collection then neither visits these objects nor copies their pages.
    """
    gc.enable()
    gc.collect()
    gc.freeze()


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _run_worker(
    waiting: socket.socket, parent: int, places: sandbox.Places, *, warm: bool, cores: set[int] | None
) -> NoReturn:
    """Runs in the child: waits for a request, serves it as its worker, and never returns.

    Only code of PassNet runs before the request arrives, so a spare worker is equivalent to a newly forked one. `parent` is 0 in
    a new PID namespace.
    """
    status = 1
    try:
        os.setsid()
        _native.die_with_parent(parent)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _close_all_but(waiting.fileno(), *_NAMESPACES)
        if warm:
            rehearsal.rehearse()
        frame = protocol.receive(waiting)
        if frame is None or frame[1] is None:
            os._exit(0)
        request, descriptor = frame
        if cores is not None:
            os.sched_setaffinity(0, cores)
        scratch = Path(request["scratch"])
        _redirect(scratch / LOG_NAME)
        confinement = _enter_sandbox(request, places, parent == 0) if request["sandbox"] else None
        _close_all_but(descriptor)
        _point_caches_below(Path(request["cache"] or request["scratch"]), scratch)
        _limit_memory(request["memory_bytes"])
        reached = _confine(confinement, request)
        worker.serve(socket.socket(fileno=descriptor), reached)
        status = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        # Not `sys.exit`: exit handlers of the fork server and of libraries must not run in a child.
        os._exit(status)


def _close_all_but(wanted: int, *kinds: str) -> None:
    """Closes all descriptors except the standard ones, `wanted`, those whose names begin with one of `kinds`, and those of the
    GPU's management library.

    A process that asks whether there is a GPU initialises this library, and a child uses the library of its parent.
    """
    for name in os.listdir("/proc/self/fd"):
        descriptor = int(name)
        with contextlib.suppress(OSError):  # The listing includes its own descriptor, which is closed.
            if (
                descriptor > 2
                and descriptor != wanted
                and not os.readlink(f"/proc/self/fd/{name}").startswith(("/dev/nvidia", *kinds))
            ):
                os.close(descriptor)


def _redirect(log: Path) -> None:
    null = os.open(os.devnull, os.O_RDONLY)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for descriptor, place in ((null, 0), (output, 1), (output, 2)):
        os.dup2(descriptor, place)


def _point_caches_below(cache: Path, scratch: Path) -> None:
    _keep_inductors_files_in(cache / "inductor")
    places = {
        "TMPDIR": scratch / "tmp",
        "TRITON_CACHE_DIR": cache / "triton",
        "PASSNET_KERNEL_CACHE": cache / "kernels",
    }
    for name, place in places.items():
        place.mkdir(parents=True, exist_ok=True)
        os.environ[name] = str(place)
    os.chdir(scratch)
    tempfile = sys.modules.get("tempfile")
    if tempfile is not None:
        tempfile.tempdir = None  # Discards the directory that was chosen in the fork server.


def _keep_inductors_files_in(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(directory)
    # Inductor chose this path when it was imported, in the fork server.
    headers = directory / "precompiled_headers"
    codecache = sys.modules.get("torch._inductor.codecache")
    for name, place in (("_HEADER_DIR", headers), ("_HEADER_LOCK_DIR", headers / "locks")):
        if hasattr(codecache, name):
            setattr(codecache, name, str(place))


def _limit_memory(growth: int) -> None:
    """Limits private memory to that of the fork server plus `growth` bytes; 0 means no limit."""
    if growth:
        status = Path("/proc/self/status").read_text()
        (data,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmData:"))
        limit = int(data) * 1024 + growth
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _enter_sandbox(request: dict[str, Any], places: sandbox.Places, new_pid_namespace: bool) -> _native.Sandbox:
    """Moves this process into its own namespaces. Its scratch folder is then empty and in memory."""
    shared = [request["cache"]] if request["cache"] else []
    for directory in shared:
        Path(directory).mkdir(parents=True, exist_ok=True)
    sandbox.be_first_to_die()
    confinement = places.sandbox(Path(request["scratch"]), shared, request["readable"], new_pid_namespace)
    confinement.enter()
    return confinement


def _confine(confinement: _native.Sandbox | None, request: dict[str, Any]) -> dict[str, str]:
    """Gives up all rights that a worker does not need. Returns the state of each layer of the sandbox, by name."""
    if confinement is None:
        return {}
    for number in (signal.SIGXCPU, signal.SIGABRT):
        _native.exit_on_signal(number)
    sandbox.limit(request["memory_bytes"], request["cpu_s"])
    os.environ.update(sandbox.environment(Path(request["scratch"])))
    return confinement.seal()
