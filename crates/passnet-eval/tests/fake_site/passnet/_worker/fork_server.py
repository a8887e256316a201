"""A fork server and workers that speak the protocol, and misbehave as the file `behaviour` of a pass directory says."""

import array
import ctypes
import hashlib
import json
import mmap
import os
import pathlib
import runpy
import select
import signal
import socket
import struct
import sys
import time

# The version is that of the real package, so that a new version does not need a change here.
REAL = pathlib.Path(__file__).resolve().parents[6] / "python/passnet/_worker/protocol.py"


def main(control):
    sock = socket.socket(fileno=control)
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    versions = {"python": sys.version.split()[0]}
    send(sock, {"type": "ready", "protocol": runpy.run_path(REAL)["VERSION"], "pid": os.getpid(), "versions": versions})
    workers = {}
    while True:
        readable, _, _ = select.select([sock], [], [], 0.02)
        reap(sock, workers)
        if not readable:
            continue
        message, descriptor = receive(sock)
        if message["type"] == "prepare":  # It has no need of spares.
            send(sock, {"type": "prepared", "pids": []})
            continue
        pid = os.fork()
        if pid == 0:
            sock.close()
            run_worker(message, descriptor)
        os.close(descriptor)
        workers[pid] = message["id"]
        send(sock, {"type": "forked", "id": message["id"], "pid": pid})


def reap(sock, workers):
    while workers:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        if pid in workers:
            code = os.waitstatus_to_exitcode(status)
            exited = {"code": code, "signal": None} if code >= 0 else {"code": None, "signal": -code}
            send(sock, {"type": "exited", "id": workers.pop(pid), **exited})


def run_worker(request, descriptor):
    os.setsid()
    log = os.open(request["scratch"] + "/output.log", os.O_WRONLY | os.O_CREAT, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
    worker = Worker(socket.socket(fileno=descriptor))
    try:
        worker.serve()
    finally:
        os._exit(0)


# Shared by all workers: a pass that is inaccurate on some contents is so in each process.
WAS_TIMED = mmap.mmap(-1, 1)


class Worker:
    def __init__(self, sock):
        self.sock, self.behaviour, self.argument, self.sets, self.last = sock, "honest", "", {}, None

    def serve(self):
        send(self.sock, {"type": "ready", "pid": os.getpid(), "sandbox": {}})
        while True:
            message, descriptor = receive(self.sock)
            getattr(self, message["type"])(message, descriptor)

    def load(self, message, _):
        passes = []
        if message["candidate"]["kind"] == "passes":
            directory = pathlib.Path(message["candidate"]["dir"])
            self.behaviour, _, self.argument = (directory / "behaviour").read_text().partition(":")
            passes = [{"name": "p", "matches": 1, "nearest": None}]
        if self.behaviour == "hang_in_load":
            time.sleep(600)
        if self.behaviour == "no_match":
            miss = {
                "matched": 1,
                "total": 2,
                "node": "gelu",
                "what": "argument",
                "expected": "'tanh'",
                "found": "'none'",
            }
            passes = [{"name": "p", "matches": 0, "nearest": miss}]
        counts = {"build_ns": 0, "rewrite_ns": 0, "nodes_before": 1, "nodes_after": 1}
        send(self.sock, {"type": "loaded", **counts, "passes": passes, "rewritten": None, "notes": []})

    def inputs(self, message, descriptor):
        first = message["tensors"][0]
        for number in range(message["count"]):
            start = first["offset"] + number * message["stride"]
            self.sets[message["set"] + number] = (os.pread(descriptor, first["nbytes"], start), first)
        send(self.sock, {"type": "done"})

    def pools(self, message, descriptor):
        self.pool = (os.dup(descriptor), message["pools"][0])
        send(self.sock, {"type": "done"})

    def drop_inputs(self, _message, _descriptor):
        self.sets.clear()
        send(self.sock, {"type": "done"})

    def call(self, message, _):
        match self.behaviour:
            case "hang_in_call":
                time.sleep(600)
            case "die":
                print("final output", flush=True)
                os.kill(os.getpid(), signal.SIGSEGV)
            case "leave":
                os._exit(3)
            case "rubbish":
                self.sock.sendall(struct.pack("<I", 5) + b"hello")
                time.sleep(600)
            case "endless":
                self.sock.sendall(struct.pack("<I", 0xFFFFFFFF))
                time.sleep(600)
            case "trickle":
                self.sock.sendall(struct.pack("<I", 1000))
                while True:
                    self.sock.sendall(b" ")
                    time.sleep(0.05)
            case "flood":
                while True:
                    send(self.sock, {"type": "done", "padding": "x" * 100000})
            case "daemon":
                leave_a_daemon(self.argument)
            case "kill_the_fork_server":
                os.kill(os.getppid(), signal.SIGKILL)
                time.sleep(600)
            case "violation":
                data, layout = self.sets[message["set"]]
                return self.ship(data, layout, notes=["violation:aten.mm"])
            case "mutates":
                data, layout = self.sets[message["set"]]
                return self.ship(data, layout, mutated=True)
        data, layout = self.sets[message["set"]]
        if self.behaviour == "inaccurate_when_timed" and WAS_TIMED[0]:
            data = bytes(len(data))
        self.ship(data, layout)

    def call_float64(self, _message, _descriptor):
        error = {"stage": "run", "exception": "RuntimeError", "message": "no float64 here", "traceback": ""}
        send(self.sock, {"type": "failed", **error, "pass": None, "fatal": False})

    def ship(self, data, layout, notes=(), mutated=False):
        match self.behaviour:
            case "wrong":
                data = bytes(len(data))
            case "stale":
                Worker.first = data = getattr(Worker, "first", data)
            case "other_dtype":
                layout = {**layout, "dtype": "int32"}
            case "other_shape":
                layout = {**layout, "shape": [1, *layout["shape"]]}
        block = os.memfd_create("outputs")
        os.write(block, data)
        nbytes, offset = len(data), 0
        match self.behaviour:
            case "short_block":
                os.ftruncate(block, 1)
            case "huge":
                nbytes = 1 << 40
            case "outside":
                offset = 1 << 20
            case "pipe":
                block, self.writer = os.pipe()
        layout = {**layout, "offset": offset}
        stride = contiguous(layout["shape"])
        if self.behaviour in ("other_strides", "fewer_strides"):
            stride = stride[::-1] if self.behaviour == "other_strides" else stride[:-1]
        place = {"stride": stride, "address": 4096, "device": "cpu"}
        value = {"kind": "tensor", "layout": {**layout, "name": "0"}, **place}
        changed = [layout] if mutated else []
        outputs = {"values": [value], "mutated": changed, "nbytes": nbytes, "notes": list(notes)}
        send(self.sock, {"type": "outputs", **outputs}, block)
        os.close(block)

    def time(self, message, _):
        if self.behaviour == "hang_in_time":
            time.sleep(600)
        trials = message["trials"] - (self.behaviour == "fewer_trials")
        if self.behaviour == "hides_time_before":
            time.sleep(0.2)
        send(self.sock, {"type": "armed"})
        if self.behaviour != "does_not_wait":
            assert receive(self.sock)[0] == {"type": "go"}
        if self.behaviour == "ends_early":
            send(self.sock, {"type": "ended"})
        begin, times = time.monotonic_ns(), []
        for _ in range(message["warmup"] + trials):
            start = time.monotonic_ns()
            while time.monotonic_ns() - start < 50_000 * message["calls"]:
                pass
            times.append((time.monotonic_ns() - start) // message["calls"])
        if self.behaviour == "hides_time":
            time.sleep(0.2)
        if self.behaviour == "inflates":
            times = [10**12 for _ in times]
        total = time.monotonic_ns() - begin
        if self.behaviour != "ends_early":
            send(self.sock, {"type": "ended"})
        if self.behaviour == "does_not_wait":
            receive(self.sock)
        if self.behaviour == "hides_time_after":
            time.sleep(0.2)
        (block, pool), windows = self.pool, message["windows"][0]
        kept_call = trials * message["calls"] - (self.behaviour != "keeps_a_call_that_it_did_not_make")
        number = (windows["start"] + (message["warmup"] + kept_call) * windows["step"]) % pool["windows"]
        layout = pool["window"]
        data = os.pread(block, layout["nbytes"], layout["offset"] + 4 * number)
        self.last = (data, layout)
        WAS_TIMED[0] = WAS_TIMED[0] or self.behaviour == "inaccurate_when_timed"
        kept = hashlib.sha256(data).hexdigest() if self.behaviour == "computes_when_fetched" else ""
        times = times[message["warmup"] :]
        reply = {"e2e_ns": times, "device_ns": [], "total_ns": total, "kept_call": kept_call, "kept": [kept]}
        send(self.sock, {"type": "timed", **reply})

    def profile(self, _message, _descriptor):
        rows = [{"name": self.behaviour, "count": 2, "total_ns": 3000}]
        send(self.sock, {"type": "profiled", "wall_ns": 5000, "host": rows, "device": []})

    def fetch(self, _message, _descriptor):
        data, layout = self.last
        if self.behaviour in ("wrong_when_timed", "inaccurate_when_timed"):
            data = bytes(len(data))
        self.ship(data, layout)


def contiguous(shape):
    """The strides of a contiguous tensor."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= size
    return strides


def leave_a_daemon(pids):
    """A process that has left session, group and parent; its id goes into a file."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.setsid()
            with open(pids, "a") as file:
                file.write(f"{os.getpid()}\n")
            time.sleep(600)
        os._exit(0)
    os.wait()
    while not os.path.exists(pids):
        time.sleep(0.01)


def send(sock, message, descriptor=None):
    body = json.dumps(message).encode()
    frame = struct.pack("<I", len(body)) + body
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))] if descriptor is not None else []
    sock.sendall(frame[sock.sendmsg([frame], rights) :])


def receive(sock):
    head, ancillary, _, _ = sock.recvmsg(4, socket.CMSG_SPACE(4), socket.MSG_WAITALL)
    if not head:
        os._exit(0)
    descriptors = array.array("i")
    for _, _, data in ancillary:
        descriptors.frombytes(data)
    body = sock.recv(struct.unpack("<I", head)[0], socket.MSG_WAITALL)
    return json.loads(body), descriptors[0] if descriptors else None
