"""The bridge between a stage of the dataset and a Ray cluster (messages: `crates/passnet-fleet/src/tasks.rs`).

    python -m passnet._fleet.tasks --address auto

The bridge gives each shard to a Ray task, starts a lost task again, and writes results next to the shards. When the bridge ends for
any reason, its tasks end too.
"""

from __future__ import annotations

import collections
import json
import os
import queue
import shutil
import tempfile
from typing import Any, TextIO

from passnet._fleet import driver, shard, station

_ATTEMPTS = 4
"""Number of attempts for a shard before it fails."""
_AHEAD = 2
"""Number of submitted tasks for each core of the cluster: one runs, and the next waits with its data."""


class Tasks:
    """The shards of one driver."""

    def __init__(self, ray: Any, hints: dict[str, str], cores: int, out: TextIO) -> None:
        self._ray, self._hints, self._cores, self._out = ray, hints, cores, out
        self._waiting: collections.deque[tuple[int, str]] = collections.deque()
        self._attempts: collections.Counter[int] = collections.Counter()
        self._running: dict[Any, tuple[int, str]] = {}  # Object reference -> shard.
        # Ray does not retry: retries are counted and reported here.
        self._task = ray.remote(shard.run_shard).options(num_cpus=cores, max_retries=0)

    def step(self, requests: queue.SimpleQueue[dict[str, Any] | None]) -> bool:
        """Runs one round. Returns False at the end of the requests."""
        try:
            while True:
                request = requests.get(timeout=0 if self._running or self._waiting else 0.2)
                if request is None:
                    return False
                self._waiting.append((request["number"], request["folder"]))
        except queue.Empty:
            pass
        self._start()
        self._take_results()
        return True

    def close(self) -> None:
        """Ends all tasks."""
        for reference in self._running:
            self._ray.cancel(reference, force=True)

    def _start(self) -> None:
        cpus = self._ray.cluster_resources().get("CPU", 0) if self._waiting else 0
        places = max(_AHEAD * int(cpus // max(self._cores, 1)), 1)
        while self._waiting and len(self._running) < places:
            number, folder = self._waiting.popleft()
            self._attempts[number] += 1
            reference = self._task.remote(shard.pack(folder), self._hints, self._cores)
            self._running[reference] = (number, folder)

    def _take_results(self) -> None:
        if not self._running:
            return
        references = list(self._running)
        ready, _ = self._ray.wait(references, num_returns=1, timeout=0.1)
        for reference in ready:
            number, folder = self._running.pop(reference)
            try:
                node, result = self._ray.get(reference)
            except self._ray.exceptions.RayError as error:
                self._lose(number, folder, error)
                continue
            _place(result, folder)
            self._emit("done", number=number, node=node)

    def _lose(self, number: int, folder: str, error: Exception) -> None:
        # The cause is the exception of the task itself, if there is one.
        words = str(getattr(error, "cause", None) or error).strip().splitlines()
        reason = words[-1] if words else type(error).__name__
        if type(error).__name__ == "WorkerCrashedError":
            reason = "its process was killed"
        if self._attempts[number] >= _ATTEMPTS:
            self._emit("failed", number=number, reason=reason)
        else:
            self._waiting.append((number, folder))
            self._emit("retried", number=number, reason=reason)

    def _emit(self, event: str, **fields: Any) -> None:
        self._out.write(json.dumps({"event": event, **fields}) + "\n")
        self._out.flush()


def _place(result: bytes, folder: str) -> None:
    """Writes a result into the folder of its shard, atomically."""
    place = os.path.join(os.path.dirname(folder), os.path.basename(folder) + ".out")
    if os.path.isdir(place):
        return  # The result of an earlier attempt exists.
    scratch = tempfile.mkdtemp(prefix=".incomplete-", dir=os.path.dirname(folder))
    shard.unpack(result, scratch)
    try:
        os.rename(scratch, place)
    except OSError:
        shutil.rmtree(scratch, ignore_errors=True)
        if not os.path.isdir(place):
            raise


def main() -> None:
    """Serves one driver until the end of standard input."""
    parser = driver.parser("passnet._fleet.tasks", __doc__)
    parser.add_argument("--cores", type=int, default=1, help="cores of a task")
    arguments = parser.parse_args()
    driver.serve(lambda ray, hints, out: Tasks(ray, hints, arguments.cores, out), arguments, station, shard)


if __name__ == "__main__":
    main()
