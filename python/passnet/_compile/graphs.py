"""CUDA graphs of a captured call. Parameters are read at fixed addresses. Outputs are copied and belong to the caller.

Inputs are copied into the graph's memory, unless they are written to or have the same address in each call.
"""

from __future__ import annotations

import bisect
import collections
import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.fx
from torch.autograd.graph import increment_version

from passnet._backend.recording import own_workspaces
from passnet._backend.types import uninitialized
from passnet._compile.capture import Captured
from passnet._compile.steady import Copies, InPlace, Watch

_WARM_UPS = 3

# Largest number of CUDA graphs of one kind of call that writes to its arguments. Each graph is for other addresses.
_MOST_RECORDINGS = 4

_DRAWS = frozenset([torch.rand, torch.randn, torch.randint, torch.randperm])

Addresses = tuple[int, ...]


class NotGraphedError(Exception):
    """A call cannot be a CUDA graph; the message says why."""


class Pool:
    """Memory that the graphs of one model share, and the order in which they use it.

    The outputs of a graph are copied before another graph runs. Replays on several streams and from several threads wait for
    each other.
    """

    def __init__(self) -> None:
        self.handle = torch.cuda.graph_pool_handle()
        self.lock = threading.Lock()
        self.stream: torch.cuda.Stream | None = None

    def enter(self) -> None:
        """Makes the current stream wait for the last replay, if that was on another stream."""
        current = torch.cuda.current_stream()
        if self.stream is not None and self.stream != current:
            current.wait_stream(self.stream)
        self.stream = current


def refusal(captured: Captured) -> str | None:
    """Returns the reason why a call cannot be a CUDA graph, found in its FX graph; None if no reason is found."""
    devices = {tensor.device for tensor in captured.example}
    if any(device.type != "cuda" for device in devices) or len(devices) != 1:
        return f"its tensors are on {' and '.join(sorted(map(str, devices))) or 'no device'}"
    draws = unused_draws(captured.module.graph)
    for node in captured.module.graph.nodes:
        for value in _tensors(node.meta.get("example_value")):
            if value.device.type != "cuda" and node not in draws:
                return f"`{node.name}` is in host memory"
        if node.kwargs.get("generator") is not None:
            return f"`{node.name}` has its own random generator"
    return None


def unused_draws(graph: torch.fx.Graph) -> list[torch.fx.Node]:
    """Returns the nodes that draw random numbers in host memory that nothing uses, in order, e.g. layer drop in evaluation mode.

    A CUDA graph does not run these nodes. They run before each replay, so that later random numbers are the same as without a graph.
    """
    return [
        node
        for node in graph.nodes
        if node.target in _DRAWS and not node.users and not node.all_input_nodes and _is_on_host(node)
    ]


def _is_on_host(node: torch.fx.Node) -> bool:
    return all(value.device.type == "cpu" for value in _tensors(node.meta.get("example_value")))


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    return [leaf for part in value for leaf in _tensors(part)] if isinstance(value, (tuple, list)) else []


class GraphedCall:
    """A captured call as a CUDA graph. It is called with the inputs alone, without the state.

    Inputs are copied into memory of the recording. Inputs that the call writes to, such as the cache of a language model, are not
    copied: the recording has their addresses. A call with other addresses runs without a graph the first time, and is recorded the
    second time.

    If a call writes to nothing, large inputs that stay at one address, such as weights that are arguments, are read at this address
    after a few calls. If such an input moves, later calls copy it.
    """

    def __init__(
        self,
        run: Callable[..., Sequence[Any]],
        state: Sequence[torch.Tensor],
        pool: Pool,
        written: frozenset[int] = frozenset(),
        draws: Sequence[Callable[[], Any]] = (),
    ) -> None:
        """`written` has the positions among inputs and state that the call writes to. `draws` are functions that draw random numbers on the host."""
        self.run = run
        self.state = list(state)
        self.pool = pool
        self.written = sorted(written)
        self.draws = draws
        self.recordings: dict[Addresses, Recording] = {}
        self.seen: collections.deque[Addresses] = collections.deque(maxlen=_MOST_RECORDINGS)
        self.fault: NotGraphedError | None = None
        self.watch = Watch()
        self.in_place: frozenset[int] = frozenset()

    @classmethod
    def recorded(
        cls,
        run: Callable[..., Sequence[Any]],
        inputs: Sequence[torch.Tensor],
        state: Sequence[torch.Tensor],
        pool: Pool,
        written: frozenset[int] = frozenset(),
        draws: Sequence[Callable[[], Any]] = (),
    ) -> GraphedCall:
        """Returns a call that is recorded for these inputs. Raises `NotGraphedError` if the recording fails."""
        call = cls(run, state, pool, written, draws)
        with pool.lock:
            call._record(inputs, call._addresses(inputs))
        return call

    def __call__(self, *inputs: torch.Tensor) -> Sequence[Any]:
        pool = self.pool
        with pool.lock:
            pool.enter()
            addresses = self._addresses(inputs)
            recording = self.recordings.get(addresses)
            if self.written:
                # A call that writes cannot be repeated, so all checks come before the replay.
                if recording is None or recording.is_stale():
                    recording = self._recorded_again(inputs, addresses)
                if recording is None or recording.is_shared(inputs):
                    return self.run(*inputs, *self.state)
                self._draw()
                return recording.replay(inputs)
            if recording is None:
                recording = self._record(inputs, addresses)
            recording = self._with_steady(recording, inputs)
            self._draw()
            results = recording.replay(inputs)
            # Checked after the launch, while the device works. If parameters have moved, the call is recorded and run again.
            if recording.is_stale():
                self.reset()
                results = self._record(inputs, addresses).replay(inputs)
        return results

    def _with_steady(self, recording: Recording, inputs: Sequence[torch.Tensor]) -> Recording:
        """Returns a recording that reads exactly the inputs with steady addresses in place."""
        if not recording.in_place.hold(inputs):
            self.in_place -= recording.in_place.moved(inputs)
        elif steady := self.watch.see(inputs):
            self.in_place = steady
        else:
            return recording
        try:
            return self._record(inputs, ())
        except NotGraphedError:
            self.in_place = frozenset()
            return self._record(inputs, ())

    def _draw(self) -> None:
        for draw in self.draws:
            draw()

    def _addresses(self, inputs: Sequence[torch.Tensor]) -> Addresses:
        return tuple(inputs[place].data_ptr() for place in self.written if place < len(inputs))

    def _recorded_again(self, inputs: Sequence[torch.Tensor], addresses: Addresses) -> Recording | None:
        """Records a call that writes to its arguments. Returns None if the addresses occur for the first time or recording failed."""
        if self.fault is not None:
            return None
        if addresses not in self.seen:
            self.seen.append(addresses)
            return None
        try:
            return self._record(inputs, addresses)
        except NotGraphedError as error:
            self.fault = error
            return None

    def _record(self, inputs: Sequence[torch.Tensor], addresses: Addresses) -> Recording:
        old = [self.recordings.pop(addresses)] if addresses in self.recordings else []
        while len(self.recordings) >= _MOST_RECORDINGS:
            old.append(self.recordings.pop(next(iter(self.recordings))))
        for recording in old:
            recording.reset()
        seen = torch.get_rng_state() if self.draws else None
        try:
            recording = Recording(self.run, inputs, self.state, self.pool, frozenset(self.written), self.in_place)
        finally:
            if seen is not None:
                torch.set_rng_state(seen)
        self.recordings[addresses] = recording
        return recording

    def reset(self) -> None:
        """Releases the memory of the graphs."""
        for recording in self.recordings.values():
            recording.reset()
        self.recordings.clear()
        self.seen.clear()


class Recording:
    """One CUDA graph, for fixed addresses of the state and of the inputs that it writes to. Raises `NotGraphedError`."""

    def __init__(
        self,
        run: Callable[..., Sequence[Any]],
        inputs: Sequence[torch.Tensor],
        state: Sequence[torch.Tensor],
        pool: Pool,
        written: frozenset[int],
        in_place: frozenset[int],
    ) -> None:
        """`in_place` has the positions of inputs that the graph reads in place. They are not kept alive: each call passes them."""
        self.state = state
        # Aliases keep the memory that the graph reads alive, even if a Parameter gets other memory.
        self.held = [tensor.detach() for tensor in state]
        self.pointers = [tensor.data_ptr() for tensor in state]
        self.places = list(range(len(state)))
        copied = {place: _static(tensor) for place, tensor in enumerate(inputs) if place not in written | in_place}
        self.copies, self.in_place = Copies(copied), InPlace(inputs, in_place)
        self.written_inputs = [place for place in sorted(written) if place < len(inputs)]
        self.written_state = [state[place - len(inputs)] for place in sorted(written) if place >= len(inputs)]
        values = [copied.get(place, tensor) for place, tensor in enumerate((*inputs, *state))]
        # The memory of inputs that are written to belongs to the caller, and is not kept alive.
        self.memory = Extents([values[place] for place in written])
        device = values[0].device
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.device(device), own_workspaces():
                _warm_up(run, values, written)
                with torch.cuda.graph(graph, pool=pool.handle, capture_error_mode="thread_local"):
                    outputs = tuple(run(*values))
        except Exception as error:
            torch.cuda.synchronize(device)
            message = str(error).strip().splitlines() or [type(error).__name__]
            raise NotGraphedError(f"the capture failed: {message[0]}") from error
        # If a result is an argument, as in `x.add_(1)`, each call returns the caller's tensor.
        self.given = {
            number: place for number, value in enumerate(outputs) if (place := _same(value, values)) is not None
        }
        outputs = tuple(None if number in self.given else value for number, value in enumerate(outputs))
        _check(outputs, values)
        self.graph, self.outputs = graph, outputs

    def replay(self, inputs: Sequence[torch.Tensor]) -> tuple[Any, ...]:
        """Runs the graph and returns copies of its results, which belong to the caller."""
        self.copies.fill(inputs)
        self.graph.replay()
        for place in self.written_inputs:
            increment_version(inputs[place])
        for tensor in self.written_state:
            increment_version(tensor)
        results = [value.clone() if isinstance(value, torch.Tensor) else value for value in self.outputs]
        for number, place in self.given.items():
            results[number] = inputs[place] if place < len(inputs) else self.state[place - len(inputs)]
        return tuple(results)

    def is_stale(self) -> bool:
        """Returns whether a tensor of the state has other memory than at the recording."""
        return not torch._C._tensors_data_ptrs_at_indices_equal(self.state, self.pointers, self.places)

    def is_shared(self, inputs: Sequence[torch.Tensor]) -> bool:
        """Returns whether an input that is copied shares memory with a tensor that is written to. The copy would miss the writes."""
        return any(self.memory.overlaps(inputs[place]) for place in self.copies.places)

    def reset(self) -> None:
        """Releases the memory of the graph."""
        self.graph.reset()
        self.copies, self.given, self.outputs, self.held, self.written_state = Copies({}), {}, (), [], []


class Extents:
    """The address ranges of some tensors."""

    def __init__(self, tensors: Sequence[torch.Tensor]) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []
        for start, end in sorted(map(_extent, tensors)):
            if self.ends and start < self.ends[-1]:
                self.ends[-1] = max(self.ends[-1], end)
            else:
                self.starts.append(start)
                self.ends.append(end)

    def overlaps(self, tensor: torch.Tensor) -> bool:
        """Returns whether the range of a tensor has a byte in common with one of these ranges."""
        start, end = _extent(tensor)
        place = bisect.bisect_left(self.starts, end) - 1
        return place >= 0 and self.ends[place] > start


def _extent(tensor: torch.Tensor) -> tuple[int, int]:
    if tensor.numel() == 0:
        return tensor.data_ptr(), tensor.data_ptr()
    span = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True)) + 1
    return tensor.data_ptr(), tensor.data_ptr() + span * tensor.element_size()


def _warm_up(run: Callable[..., Sequence[Any]], values: Sequence[torch.Tensor], written: frozenset[int]) -> None:
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    # The state of the generator is restored below, so that later random numbers are the same as without graphs.
    generator = torch.cuda.default_generators[torch.cuda.current_device()]
    seen = generator.get_state()
    with torch.cuda.stream(side):
        for _ in range(_WARM_UPS):
            run(*(value.clone() if place in written else value for place, value in enumerate(values)))
    torch.cuda.current_stream().wait_stream(side)
    generator.set_state(seen)


def _same(value: Any, values: Sequence[torch.Tensor]) -> int | None:
    """Returns the position of the argument that is this result; None if the result is no argument."""
    if not isinstance(value, torch.Tensor):
        return None
    return next((place for place, known in enumerate(values) if value is known), None)


def _check(outputs: Sequence[Any], values: Sequence[torch.Tensor]) -> None:
    known = {tensor.untyped_storage()._cdata for tensor in values}
    for value in outputs:
        if isinstance(value, torch.Tensor) and value.untyped_storage()._cdata in known:
            raise NotGraphedError("a result is a view of an argument or a parameter")


def _static(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a copy of an input in new memory, with the same strides. Raises `NotGraphedError` for an expanded tensor."""
    if torch._debug_has_internal_overlap(tensor) == 1:
        raise NotGraphedError("an argument is expanded: several of its elements share memory")
    copy = uninitialized(tensor)
    copy.copy_(tensor)
    return copy
