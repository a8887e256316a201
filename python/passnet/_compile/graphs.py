"""CUDA graphs of a captured call: parameters are static, inputs are copied in, outputs belong to the caller."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
import torch.fx

from passnet._compile.capture import Captured

_WARM_UPS = 3


class NotGraphedError(Exception):
    """A call cannot be a CUDA graph; the message says why."""


class Pool:
    """Memory that the graphs of one model share, and the order in which they use it.

    A graph's outputs are copied out before another one runs. Replays on several streams and from several threads wait for
    each other.
    """

    def __init__(self) -> None:
        self.handle = torch.cuda.graph_pool_handle()
        self.lock = threading.Lock()
        self.stream: torch.cuda.Stream | None = None

    def enter(self) -> None:
        """Makes the current stream wait for the last replay, if that was on another."""
        current = torch.cuda.current_stream()
        if self.stream is not None and self.stream != current:
            current.wait_stream(self.stream)
        self.stream = current


def refusal(captured: Captured) -> str | None:
    """Why a call cannot be a CUDA graph, as far as its graph says it."""
    devices = {tensor.device for tensor in captured.example}
    if any(device.type != "cuda" for device in devices) or len(devices) != 1:
        return f"its tensors are on {' and '.join(sorted(map(str, devices))) or 'no device'}"
    if captured.mutated:
        return "it writes to an argument or to a buffer"
    for node in captured.module.graph.nodes:
        for value in _tensors(node.meta.get("example_value")):
            if value.device.type != "cuda":
                return f"`{node.name}` is in host memory"
        if node.kwargs.get("generator") is not None:
            return f"`{node.name}` has a random generator of its own"
    return None


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    return [leaf for part in value for leaf in _tensors(part)] if isinstance(value, (tuple, list)) else []


class GraphedCall:
    """A captured call as a CUDA graph; called as the graph's function is, with its inputs alone."""

    def __init__(
        self,
        run: Callable[..., Sequence[Any]],
        inputs: Sequence[torch.Tensor],
        state: Sequence[torch.Tensor],
        pool: Pool,
    ) -> None:
        self.run = run
        self.state = list(state)
        self.pool = pool
        # Aliases keep the memory that the graph reads, also where a Parameter is given other memory.
        self.held: list[torch.Tensor] = []
        self.pointers: list[int] = []
        self.places = list(range(len(self.state)))
        self.graph: torch.cuda.CUDAGraph | None = None
        with pool.lock:
            self.record(inputs)

    def record(self, inputs: Sequence[torch.Tensor]) -> None:
        """Records the graph. Raises `NotGraphedError`."""
        self.held = [tensor.detach() for tensor in self.state]
        self.pointers = [tensor.data_ptr() for tensor in self.state]
        self.inputs = [_static(tensor) for tensor in inputs]
        device = (*inputs, *self.state)[0].device
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.device(device), _own_workspaces():
                self._warm_up()
                with torch.cuda.graph(graph, pool=self.pool.handle, capture_error_mode="thread_local"):
                    outputs = tuple(self.run(*self.inputs, *self.state))
        except Exception as error:
            torch.cuda.synchronize(device)
            message = str(error).strip().splitlines() or [type(error).__name__]
            raise NotGraphedError(f"the capture failed: {message[0]}") from error
        self._check(outputs)
        self.graph, self.outputs = graph, outputs

    def _warm_up(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        # The numbers that the user draws later are those that a call without graphs leaves.
        generator = torch.cuda.default_generators[torch.cuda.current_device()]
        seen = generator.get_state()
        with torch.cuda.stream(side):
            for _ in range(_WARM_UPS):
                self.run(*self.inputs, *self.state)
        torch.cuda.current_stream().wait_stream(side)
        generator.set_state(seen)

    def _check(self, outputs: Sequence[Any]) -> None:
        known = {tensor.untyped_storage()._cdata for tensor in (*self.inputs, *self.state)}
        for value in outputs:
            if isinstance(value, torch.Tensor) and value.untyped_storage()._cdata in known:
                raise NotGraphedError("a result is a view of an argument or a parameter")

    def __call__(self, *inputs: torch.Tensor) -> tuple[Any, ...]:
        pool = self.pool
        with pool.lock:
            pool.enter()
            results = self._replay(inputs)
            # While the device works: parameters with other memory make the graph stale.
            if self._is_stale():
                self.reset()
                self.record(inputs)
                results = self._replay(inputs)
        return results

    def _replay(self, inputs: Sequence[torch.Tensor]) -> tuple[Any, ...]:
        for static, given in zip(self.inputs, inputs, strict=True):
            static.copy_(given)
        graph = self.graph
        assert graph is not None
        graph.replay()
        return tuple(value.clone() if isinstance(value, torch.Tensor) else value for value in self.outputs)

    def _is_stale(self) -> bool:
        return not torch._C._tensors_data_ptrs_at_indices_equal(self.state, self.pointers, self.places)

    def reset(self) -> None:
        """Gives the memory of the graph back."""
        if self.graph is not None:
            self.graph.reset()
        self.graph, self.inputs, self.outputs, self.held = None, [], (), []


@contextlib.contextmanager
def _own_workspaces() -> Iterator[None]:
    """Keeps workspaces of cuBLAS that are allocated in the pool of a graph out of the table that lives as long as the process."""
    clear = getattr(torch._C, "_cuda_clearCublasWorkspaces", lambda: None)
    clear()
    try:
        yield
    finally:
        clear()


def _static(tensor: torch.Tensor) -> torch.Tensor:
    """Memory of its own for an input, with its strides and content."""
    if torch._debug_has_internal_overlap(tensor) == 1:
        raise NotGraphedError("an argument is expanded: several of its elements are one in memory")
    copy = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device)
    copy.copy_(tensor)
    return copy
