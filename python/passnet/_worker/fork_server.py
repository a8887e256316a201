"""The fork server: imports torch once, then forks a worker per request (`docs/reference/worker-protocol.md`).

It stays fork-safe: it never initialises CUDA, never runs a multi-threaded operator and never loads a pass. The only thing it
compiles on request is a graph of PassNet.
"""
# ruff: noqa: E402 - what the imports must find comes before them

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

# Before torch is imported: Inductor would start a pool of compile processes, which a forked worker could not use.
os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
# Triton reads this when any kernel is defined, also in its own library. So it must be set before the first import.
if not os.path.exists("/dev/nvidiactl"):
    os.environ["TRITON_INTERPRET"] = "1"
# Has torch ask the management library whether there is a GPU: to ask the driver would initialise it, and a forked child of
# such a process cannot use CUDA.
os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"

# Nothing of what importing makes is garbage, and each collection would look through all of it.
gc.disable()

# Before torch, which starts threads: a user other than root could not confine anything afterwards.
from passnet._worker import sandbox  # isort: skip

# Dynamo takes seconds to import. It must not run here where there is a GPU: it asks for the current accelerator, which
# initialises CUDA.
import torch
import torch._dynamo
import torch._dynamo.repro.after_dynamo  # Dynamo imports it with its first graph.
import torch.fx

from passnet import _native
from passnet._worker import protocol, rehearsal, worker

LOG_NAME = "output.log"

_HAS_GPU = os.path.exists("/dev/nvidiactl")

# Namespaces that a worker has still to enter.
_NAMESPACES = ("net:", "ipc:", "uts:")


def main(control: int) -> NoReturn:
    """Serves requests on the socket with descriptor `control` until its end."""
    torch.set_num_threads(1)
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
        # By process id: where a spare waits for its request, and whether it has a new PID namespace.
        self.spares: dict[int, tuple[socket.socket, bool]] = {}
        self.wanted = collections.deque([False], maxlen=16)  # Of which of the two kinds the last workers were.
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
                        self.compile(Path(cache))
                    case (message, _):
                        raise protocol.ProtocolError(f"unknown or incomplete request `{message['type']}`")

    def compile(self, cache: Path) -> None:
        """Sets the compiler up, so that workers forked later find it imported and its tables filled."""
        # A spare would find them as they were.
        while self.spares:
            pid, (sock, _) = self.spares.popitem()
            sock.close()
            _kill(pid)
        gc.disable()
        # Takes seconds, and only workers that compile need it.
        importlib.import_module("torch._inductor.compile_fx")
        _settle()
        if not _HAS_GPU:
            _keep_inductors_files_in(cache / "inductor")
            try:
                rehearsal.rehearse_compiler()
            except Exception:  # The worker that compiles reports the error.
                sys.excepthook(*sys.exc_info())
        self.send({"type": "compiled"})

    def fork(self, request: dict[str, Any], descriptor: int) -> None:
        """Hands the request to a spare worker of its kind, or to one that is forked for it."""
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
                except OSError:  # It has died while it waited.
                    pid = None
        os.close(descriptor)
        self.workers[pid] = request["id"]
        self.send({"type": "forked", "id": request["id"], "pid": pid})

    def prepare(self, count: int, cores: list[int]) -> None:
        """Forks until `count` spares wait, on the given cores if any are given."""
        everywhere = os.sched_getaffinity(0)
        os.sched_setaffinity(0, everywhere.intersection(cores) or everywhere)
        # As the last ones were, the very last first.
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
        # A worker in a new PID namespace sees its parent as process 0.
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
            # Processes that a worker leaves behind have become our children (subreaper), and so will theirs; none of them must
            # outlive the worker.
            self.kill_orphans()
            if worker is None:
                continue
            code = os.waitstatus_to_exitcode(status)
            if code > 128:  # How a worker ends that would have survived the signal as the first of its namespace.
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
    """Lets what exists now live as long as the process.

    Collections in workers, which come before each block of timed calls, need not walk over it (nor copy its pages).
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
    """Runs in the child: waits for a request, becomes its worker and never returns.

    Until the request comes nothing but PassNet's own code has run: a spare worker is as fresh as one just forked.
    `parent` is 0 in a new PID namespace.
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
        # Not `sys.exit`: handlers of the fork server and of libraries must not run in a child.
        os._exit(status)


def _close_all_but(wanted: int, *kinds: str) -> None:
    """Closes every descriptor but the standard ones, `wanted`, those whose names begin as one of `kinds`, and those of the
    GPU's management library.

    That library is initialised once a process has asked whether there is a GPU, and is used on behalf of the child too.
    """
    for name in os.listdir("/proc/self/fd"):
        descriptor = int(name)
        with contextlib.suppress(OSError):  # The directory itself was open while it was listed.
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
        tempfile.tempdir = None  # Forget the directory that was chosen in the fork server.


def _keep_inductors_files_in(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(directory)
    # Chosen when the module was imported, in the fork server.
    headers = directory / "precompiled_headers"
    codecache = sys.modules.get("torch._inductor.codecache")
    for name, place in (("_HEADER_DIR", headers), ("_HEADER_LOCK_DIR", headers / "locks")):
        if hasattr(codecache, name):
            setattr(codecache, name, str(place))


def _limit_memory(growth: int) -> None:
    """Allows `growth` bytes of private memory beyond what the fork server already has; 0 for no limit."""
    if growth:
        status = Path("/proc/self/status").read_text()
        (data,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmData:"))
        limit = int(data) * 1024 + growth
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _enter_sandbox(request: dict[str, Any], places: sandbox.Places, new_pid_namespace: bool) -> _native.Sandbox:
    """Moves this process into its own namespaces. From here on, its scratch is empty and in memory."""
    shared = [request["cache"]] if request["cache"] else []
    for directory in shared:
        Path(directory).mkdir(parents=True, exist_ok=True)
    sandbox.be_first_to_die()
    confinement = places.sandbox(Path(request["scratch"]), shared, request["readable"], new_pid_namespace)
    confinement.enter()
    return confinement


def _confine(confinement: _native.Sandbox | None, request: dict[str, Any]) -> dict[str, str]:
    """Gives up all rights that a worker does not need. Returns the confinement by layer."""
    if confinement is None:
        return {}
    for number in (signal.SIGXCPU, signal.SIGABRT):
        _native.exit_on_signal(number)
    sandbox.limit(request["memory_bytes"], request["cpu_s"])
    os.environ.update(sandbox.environment(Path(request["scratch"])))
    return confinement.seal()
