"""A step of training, forward and backward, that is compared with PyTorch before compiled code computes it.

Each stage is compared on its own when it is compiled. AOTAutograd stands around the stages: it finds out which arguments are written to
and which results share memory, and code around the stages does both again. Only a whole step shows an error there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch

from passnet._backend.compare import Inexact, difference, other_sharing
from passnet._backend.effects import effects_of
from passnet._backend.precision import copies, is_as_precise
from passnet._backend.regions import fork_random
from passnet._backend.saved_tensors import without_hooks
from passnet._summary import summary
from passnet.kernels._errors import is_fatal

# Largest number of elements of a tensor that may have statistics: one element for each channel.
_STATISTICS = 1 << 16

Run = Callable[..., Sequence[Any]]


class Step:
    """One forward and backward of a function with these arguments, on copies of those that are written to.

    `written` are the positions of these arguments.
    """

    def __init__(self, values: Sequence[Any], written: Collection[int]) -> None:
        self.values = values
        self.written = written
        self._weights: list[torch.Tensor] | None = None

    def arguments(self, *, exact: bool = False) -> tuple[list[Any], list[torch.Tensor]]:
        """Returns arguments for one run, and those of them or their sources that require gradients. `exact` widens them to float64."""
        given: list[Any] = []
        starts: list[torch.Tensor] = []
        for place, value in enumerate(self.values):
            if not isinstance(value, torch.Tensor):
                given.append(value)
                continue
            own = value.detach()
            if exact and own.dtype.is_floating_point:
                own = own.double()
            if place in self.written:
                # Stages are compiled for the strides of their first call, and `clone` changes those of a slice.
                own = copies([own])[0]
            own.requires_grad_(value.requires_grad)
            if own.requires_grad:
                starts.append(own)
                # PyTorch refuses a write to a leaf. It allows one to a computed tensor, as this argument is.
                if place in self.written and not value.is_leaf:
                    own = _computed(own)
            given.append(own)
        return given, starts

    def take(self, run: Run, *, exact: bool = False) -> tuple[list[Any], list[Any]]:
        """Runs a step. Returns the results, and then the gradients of the arguments followed by the arguments that were written to."""
        given, starts = self.arguments(exact=exact)
        # Each step begins with the same random numbers. A checkpoint around the call must not count the tensors of this step as its own.
        with without_hooks(), fork_random(given):
            results = list(run(*given))
            ends = [value for value in results if isinstance(value, torch.Tensor) and value.requires_grad]
            gradients: Sequence[Any] = ()
            if ends and starts:
                gradients = torch.autograd.grad(ends, starts, self._given_gradients(ends), allow_unused=True)
        written = [given[place].detach() for place in sorted(self.written)]
        return [_detached(value) for value in results], [*gradients, *written]

    def fault(self, plain: Run, compiled: Run) -> str | None:
        """Returns the difference between a step of `compiled` and a step of `plain`; None if there is none."""
        theirs = self.take(plain)
        ours = self.take(compiled)
        reason = difference([*ours[0], *ours[1]], [*theirs[0], *theirs[1]], ())
        if reason is None or isinstance(reason, Inexact):
            reason = other_sharing(self._results_and_written(ours), self._results_and_written(theirs)) or reason
        if not isinstance(reason, Inexact):
            return reason
        try:
            exact = self.take(plain, exact=True)
        except Exception:  # An operator may raise any exception for a dtype that it does not support.
            return reason
        return None if is_as_precise(ours, theirs, exact) else reason

    def _results_and_written(self, taken: tuple[list[Any], list[Any]]) -> list[Any]:
        """Returns the results of a step and the written arguments, without the gradients."""
        results, others = taken
        return [*results, *others[len(others) - len(self.written) :]]

    def _given_gradients(self, ends: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Returns gradients of the results. They are the same in all steps."""
        if self._weights is None:
            self._weights = [torch.randn_like(value) for value in ends]
        return [weight.to(value.dtype) for weight, value in zip(self._weights, ends, strict=True)]


class CheckedSteps:
    """A function with compiled gradients. Its first call takes a whole step on copies, and PyTorch computes all calls if it is wrong.

    `written` are the positions of arguments that may be written to, judged by the graph. `left` gets the reason for PyTorch.
    """

    def __init__(self, plain: Run, compiled: Run, written: Collection[int], left: Callable[[str], None]) -> None:
        self.plain = plain
        self.written = written
        self.compiled = compiled
        self.left = left
        self.run: Run | None = None
        self._lock = threading.RLock()
        self._is_deciding = False

    def __call__(self, *values: Any) -> Sequence[Any]:
        run = self.run
        if run is None:
            run = self._first(values)
        return run(*values)

    def _first(self, values: Sequence[Any]) -> Run:
        """Returns the function for a call before the decision is known. Several threads may make the first call at the same time."""
        with self._lock:
            if self._is_deciding:
                # The comparison itself calls this function, for example by a hook in the backward.
                return self.plain
            if self.run is None:
                self._is_deciding = True
                try:
                    self.run = self._decided(values)
                finally:
                    self._is_deciding = False
            return self.run

    def _decided(self, values: Sequence[Any]) -> Run:
        try:
            fault = Step(values, self._may_be_written(values)).fault(self.plain, self.compiled)
        except Exception as error:
            if is_fatal(error):
                raise
            fault = summary(error)
        if fault is None:
            return self.compiled
        self.left(fault)
        return self.plain

    def _may_be_written(self, values: Sequence[Any]) -> set[int]:
        """Returns the positions of arguments that a step must not get: those that are written to, and small ones without a gradient.

        Some operators write without a trace, such as batch normalisation to its running statistics. Large arguments without a gradient
        are frozen weights, which need no copy.
        """
        effects = effects_of(self.plain, values)
        tensors = {place: value for place, value in enumerate(values) if isinstance(value, torch.Tensor)}
        small = {place for place, value in tensors.items() if not value.requires_grad and value.numel() <= _STATISTICS}
        return {*self.written, *small, *(tensors if effects is None else effects.mutated)}


def _computed(leaf: torch.Tensor) -> torch.Tensor:
    """Returns a copy of a leaf that is computed from it, with the same strides."""
    return torch.empty_strided(leaf.shape, leaf.stride(), dtype=leaf.dtype, device=leaf.device).copy_(leaf)


def _detached(value: Any) -> Any:
    return value.detach() if isinstance(value, torch.Tensor) else value
