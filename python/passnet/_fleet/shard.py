"""A Ray task: one stage of the dataset on one shard.

The source of this file is sent to the nodes, so it imports only the standard library and `station`, which is sent as well.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import shutil
import socket
import subprocess
import tarfile
import tempfile

from passnet._fleet import station

_PREFIX = "passnet-shard-"
_LAST_BYTES = 2000
"""Largest number of bytes, from the end of a stage's messages, that an error repeats."""


def pack(folder: str) -> bytes:
    """Returns the files of a folder as a tar archive."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in sorted(os.listdir(folder)):
            archive.add(os.path.join(folder, name), arcname=name)
    return buffer.getvalue()


def unpack(package: bytes, folder: str) -> None:
    """Writes the files of an archive into a folder."""
    with tarfile.open(fileobj=io.BytesIO(package)) as archive:
        archive.extractall(folder, filter="data")


def run_shard(package: bytes, hints: dict[str, str], cores: int) -> tuple[str, bytes]:
    """Runs `passnet fleet shard` on an archive with a shard. Returns the name of the host and an archive with the result."""
    variables = dict(os.environ)
    command = station.station_command(variables, hints)
    if command is None:
        raise RuntimeError("the command passnet was not found on this node; install passnet, or set PASSNET_BINARY")
    environment = station.station_environment(variables, hints, "cpu")
    environment["RAYON_NUM_THREADS"] = str(max(cores, 1))
    with _scratch() as folder:
        unpack(package, folder)
        run = subprocess.run(
            [command, "fleet", "shard", folder, "--cores", str(cores)],
            env=environment,
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
        if run.returncode != 0:
            words = run.stderr[-_LAST_BYTES:].decode(errors="replace").strip()
            raise RuntimeError(f"the stage ended with code {run.returncode} on {socket.gethostname()}: {words}")
        return socket.gethostname(), pack(os.path.join(folder, "out"))


@contextlib.contextmanager
def _scratch():
    """Yields a folder for this task. First removes the folders of killed tasks, whose locks are free."""
    root = tempfile.gettempdir()
    for name in os.listdir(root):
        if name.startswith(_PREFIX) and name.endswith(".lock"):
            with contextlib.suppress(OSError), open(os.path.join(root, name)) as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(os.path.join(root, name.removesuffix(".lock")), ignore_errors=True)
                os.unlink(file.name)
    with tempfile.NamedTemporaryFile(prefix=_PREFIX, suffix=".lock", dir=root, delete=False) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = lock.name.removesuffix(".lock")
        os.mkdir(folder, 0o700)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            os.unlink(lock.name)
