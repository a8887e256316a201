"""The compiled model: a callable that runs the compiled graph of a call, or the model itself."""

from __future__ import annotations

import dataclasses
import functools
import threading
from collections.abc import Callable
from typing import Any

import torch
import torch._dynamo
from torch.compiler import is_dynamo_compiling

from passnet._backend.cache import Store
from passnet._backend.directories import load_directories
from passnet._backend.modes import ModesKept, keeps_modes
from passnet._compile.autocast import ImplicitCastError, uncached
from passnet._compile.build import Built
from passnet._compile.calls import is_slower
from passnet._compile.capture import Captured, capture
from passnet._compile.collection import without_old_objects
from passnet._compile.entry import MISS, Entry, checked, facts_of, joined, make_entry, make_model_entry
from passnet._compile.errors import NotCapturedError
from passnet._compile.facts import owned_tensors
from passnet._compile.faithful import RandomState, UnfaithfulError, compare_with_model
from passnet._compile.freeze import call_counters
from passnet._compile.graphs import Pool
from passnet._compile.inference import build_inference
from passnet._compile.methods import caller_of
from passnet._compile.options import Options
from passnet._compile.outside import Changing, reason_outside
from passnet._compile.registry import watch
from passnet._compile.report import CompileReport
from passnet._compile.standin import StandIn
from passnet._compile.training import build_training
from passnet._compile.uncaptured import RefusedError, run_uncaptured
from passnet._passes.load import Pass
from passnet._warning import warn
from passnet.kernels._errors import is_fatal

# Number of further attempts to capture. A model that fills a cache or installs hooks does so only in its first call.
_RETRIES = 1
# Number of changes of frozen weights after which a model is compiled frozen again. Compilation takes seconds.
_MOST_CHANGES = 3

# Only one thread captures at a time, because settings of Dynamo apply to the whole process.
_capturing = threading.RLock()


class Compiled(StandIn):
    """A model with compiled calls. A call that cannot be compiled runs the model itself.

    Parameters may change in place at any time, for example by an optimiser or `load_state_dict`. With `freeze`, such a change compiles
    the model again. Each call also notices assigned parameters, buffers, modules, attributes and globals, and changed hooks. Call
    `refresh` after a change of a method of a class. A compiled model can replace the model inside other modules; its parameters keep
    their names.
    """

    def __init__(self, model: Callable[..., Any], options: Options) -> None:
        self.model = model
        self.options = options
        directories = [directory for path in options.passes for directory in load_directories(path)]
        self._known: list[Pass] = [rule for directory in directories for rule in directory.passes]
        self._store = Store.default() if options.cache_dir is None else Store(options.cache_dir)
        self._lock = threading.RLock()
        self._entries: tuple[Entry, ...] = ()
        self._built: list[Built] = []
        self._counts: dict[str, int] = {}
        self._dynamo: Callable[..., Any] | None = None
        self._refused: str | None = None
        self._implicit_cast: str | None = None
        self._limited: str | None = None
        self._retries = 0
        self._weight_changes = 0
        self._is_stale = False
        self._warned: set[str] = set()
        self._changing = Changing()
        # Assigned last: later assignments of other names are those of the model (`StandIn`).
        self._caller: torch.nn.Module | None = None
        if isinstance(model, torch.nn.Module):
            watch(model, self, Compiled._changed)
        # Without the attributes of a callable object or a function, which may be called `model` like one of this object.
        functools.update_wrapper(self, model.forward if isinstance(model, torch.nn.Module) else model, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # Within a capture by Dynamo, the model itself runs, so that guards are not captured.
        if is_dynamo_compiling():
            return self.model(*args, **kwargs)
        for entry in self._entries:
            result = entry(args, kwargs)
            if result is not MISS:
                return result
        return self._other_call(args, kwargs)

    def report(self) -> CompileReport:
        """Returns the regions of each kind of call with their times, and the calls that PyTorch ran. Print it, or take `as_dict()`."""
        return CompileReport([built.report for built in self._built], dict(self._counts))

    def refresh(self) -> None:
        """Discards compiled calls, so that changes of the model take effect. Each kind of call is compiled again at its next call."""
        with self._lock:
            self._forget()
            if isinstance(self.model, torch.nn.Module):
                # Also watches modules that were added.
                watch(self.model, self, Compiled._changed)

    def reset(self) -> None:
        """Discards all compiled graphs and releases the memory of CUDA graphs."""
        with self._lock:
            self._forget()
            self._counts.clear()
            self.__dict__.pop("_pool", None)

    def train(self, mode: bool = True) -> Compiled:
        """Sets the model to training mode, or to evaluation mode if `mode` is False. Returns this object."""
        self._module().train(mode)
        return self

    def eval(self) -> Compiled:
        """Sets the model to evaluation mode. Returns this object."""
        return self.train(False)

    def _module(self) -> torch.nn.Module:
        if not isinstance(self.model, torch.nn.Module):
            raise TypeError("a compiled function has no mode; compile a module")
        return self.model

    def _as_caller(self) -> torch.nn.Module:
        """Returns the object that methods of the model get as `self`. Its calls run compiled."""
        if self._caller is None:
            try:
                self._caller = caller_of(self.model, self, self._has_no_graphs)
            except Exception:
                # A class may refuse to be subclassed. Its methods then call the model itself.
                self._caller = self.model
            watch(self._caller, self, Compiled._changed)
        return self._caller

    def _has_no_graphs(self) -> bool:
        """Returns whether it is known that calls of this model do not become CUDA graphs."""
        left = self._refused or self._dynamo or self._changing.has_any()
        return bool(left) or not self.options.cuda_graphs

    def _changed(self) -> None:
        """Invalidates all entries. Called after a parameter, buffer or module of the model was registered."""
        self._entries = ()
        self._is_stale = True

    def _weights_changed(self) -> Any:
        """Invalidates all entries. Called by an entry whose graph has constants of a weight that has changed."""
        if not self._is_stale:
            self._weight_changes += 1
        self._changed()
        return MISS

    def _present_options(self) -> Options:
        """Returns the options for the next kind of call. A model whose frozen weights change repeatedly is no longer frozen."""
        if not self.options.freeze or self._weight_changes <= _MOST_CHANGES:
            return self.options
        advice = "each change compiled the model again; `refresh()` freezes it again"
        self._warn(
            "freeze",
            f"{self._name()} is no longer frozen, because its weights changed {self._weight_changes} times: {advice}",
        )
        return dataclasses.replace(self.options, freeze=False)

    def _forget(self) -> None:
        self._entries = ()
        for built in self._built:
            built.reset()
        self._built.clear()
        self._dynamo = self._refused = self._implicit_cast = self._limited = None
        self._changing = Changing()
        self._retries = self._weight_changes = 0
        self._is_stale = False

    def _other_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs a call that no entry accepts."""
        # First a reason that holds for every such call: for a small model, the other checks take longer than the model.
        always = None if self._dynamo is not None or self._is_stale else self._refused or self._limited
        if reason := always or self._eager_reason(args, kwargs) or self._changing.reason(args, kwargs):
            run = self._count(reason)
        else:
            with self._lock:
                run = self._decide(args, kwargs)
            if run is None:
                # In this order: a thread that compiles a model which contains this one calls this object while it captures.
                with _capturing, self._lock:
                    run = self._decide(args, kwargs) or self._compiled(args, kwargs)
        # Outside the lock: the model may wait for another thread that calls this object.
        return run(*args, **kwargs)

    def _decide(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[..., Any] | None:
        """Returns the function that computes a call that no entry accepts; `None` if the call has to be compiled."""
        if self._is_stale:
            # These survive the refresh: otherwise a model that assigns a buffer in each call would be captured in each call.
            dynamo, retries, changes = self._dynamo, self._retries, self._weight_changes
            self.refresh()
            self._dynamo, self._retries, self._weight_changes = dynamo, retries, changes
        # Another thread may have compiled this kind of call in the meantime.
        for entry in checked(self._entries):
            if (result := entry(args, kwargs)) is not MISS:
                return lambda *_, **__: result
        if self._dynamo is not None:
            return self._dynamo
        if self._refused is None and len(self._built) >= self.options.limit:
            self._limited = f"{self.options.limit} kinds of calls are compiled already (`limit`)"
            advice = f"{self._limited}; raise `limit`, or use fewer sizes"
            self._warn("limit", f"PyTorch runs calls of {self._name()} with other types or sizes: {advice}")
        if reason := self._refused or self._limited:
            return self._count(reason)
        return None

    def _compiled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[..., Any]:
        """Compiles a call, and returns a function that gives its result."""
        try:
            result = self._compile(args, kwargs)
        except NotCapturedError as error:
            return self._uncaptured(error)
        return lambda *_, **__: result

    def _compile(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs a call of a new kind, and compiles this kind for later calls. The caller holds `_capturing`."""
        with without_old_objects() as left_out:
            before = RandomState() if self.options.verify else None
            with left_out.new_objects(), uncached(), ModesKept():
                captured = capture(self.model, args, kwargs)
            try:
                with ModesKept():
                    if before is not None:
                        compare_with_model(self.model, captured, before, args, kwargs)
                    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in captured.example):
                        built = self._trained(captured)
                    else:
                        built = build_inference(captured, self._known, self._present_options(), self._store, self._pool)
            except UnfaithfulError as error:
                self._refused = self._left("unfaithful", str(error))
                return error.result
            except ImplicitCastError as error:
                self._implicit_cast = self._left("autocast", f"autocast is enabled, and {error}")
                return captured.result
            except Exception as error:
                if is_fatal(error):
                    raise
                self._refused = self._left("failed", f"compilation failed: {type(error).__name__}: {error}")
                return captured.result
        self._built.append(built)
        if not self._is_stale:
            run = keeps_modes(built.run, captured.module.graph)
            # A compiled training call writes to copies until its end, so the model can run the call if it fails.
            writes = bool(captured.mutated) and not (built.report.trains and built.report.left is None)

            def failed(error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
                if writes:
                    # Replacements of such calls fall back themselves, so the exception is one of PyTorch.
                    raise error
                return self._after_exception(entry, error, args, kwargs)

            facts = facts_of(self.model, captured)
            captured.frozen += call_counters(self.model, captured.frozen)
            entry = make_entry(captured, run, facts, failed, self._weights_changed)
            if self.options.verify and is_slower(
                (*checked(self._entries), entry), built, captured, self.model, (args, kwargs)
            ):
                entry = make_model_entry(self.model, captured, facts)
            self._entries = joined(self._entries, entry, self.model)
        return captured.result

    def _trained(self, captured: Captured) -> Built:
        """Builds the call with compiled gradients. If that fails, warns once and uses the gradients of PyTorch."""
        run, report = build_training(captured, self._known, self.options, self._store)
        if self._pool is not None:
            report.cuda_graph = "refused: gradients are required"
        if unused := self.options.of_inference():
            message = f"{unused} do not apply to calls that require gradients; for inference, call the model under `torch.no_grad()`"
            self._warn("options", message)
        if report.left is not None:
            self._warn("gradient", f"PyTorch computes the gradients of {self._name()}: {report.left}")
        return Built(run, report, None)

    def _after_exception(self, entry: Entry, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs the model after a replacement in an entry raised an exception, and removes the entry."""
        if is_fatal(error):
            raise error
        # If the call itself is invalid, such as an index out of range, this raises too and the entry stays.
        result = self.model(*args, **kwargs)
        self._entries = tuple(known for known in self._entries if known is not entry)
        self._count(f"a compiled call failed: {type(error).__name__}: {error}")
        return result

    def _uncaptured(self, error: NotCapturedError) -> Callable[..., Any]:
        """Returns a function that runs the model if it has not run. An exception of the model goes to the caller; later calls are unaffected."""
        reason, results, may_pass = str(error), error.result, error.may_pass
        if (kind := error.growing) is not None:
            if self._changing.note(kind, reason):
                advice = "arguments that keep their sizes and numbers, such as a cache of fixed size, are compiled"
                self._warn("changing", f"PyTorch runs calls of {self._name()}: {reason}; {advice}")
            self._count(reason)
            return lambda *_, **__: results[0]

        def run(*args: Any, **kwargs: Any) -> Any:
            result = results[0] if results else self.model(*args, **kwargs)
            with self._lock:
                self._not_captured(reason, may_pass)
            return result

        return run

    def _not_captured(self, reason: str, may_pass: bool) -> None:
        """Leaves later calls to `torch.compile` with PassNet as its backend, which supports models that are not one graph."""
        if may_pass and self._retries < _RETRIES:
            self._retries += 1
            self._count(f"not one graph, tried again at the next call: {reason}")
            return
        if self._dynamo is None:
            try:
                self._dynamo = run_uncaptured(self.model, self._known, self.options, self._store, self._prefer_model)
            except RefusedError as error:
                self._refused = self._left("failed", f"not one graph, and {error}")
                return
        self._count(f"not one graph, run by torch.compile: {reason}")

    def _prefer_model(self, reason: str, entry: Entry) -> None:
        """Adds an entry that runs the model for a kind of call that is not one graph."""
        self._count(reason)
        self._entries = (*self._entries, entry)

    @functools.cached_property
    def _pool(self) -> Pool | None:
        return Pool() if self.options.cuda_graphs and torch.cuda.is_available() else None

    def _name(self) -> str:
        return getattr(self.model, "__qualname__", type(self.model).__name__)

    def _warn(self, key: str, message: str) -> None:
        """Warns once for each key. Without a warning, users would not notice that PyTorch runs a call, which is correct but not faster."""
        if key not in self._warned:
            self._warned.add(key)
            warn(message)

    def _left(self, key: str, reason: str) -> str:
        """Warns and counts that PyTorch runs a call. Returns the reason."""
        self._warn(key, f"PyTorch runs {self._name()}: {reason}")
        self._count(reason)
        return reason

    def _count(self, reason: str) -> Callable[..., Any]:
        """Counts a call that PyTorch runs. Returns the model."""
        self._counts[reason] = self._counts.get(reason, 0) + 1
        return self.model

    def _eager_reason(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """Returns the reason why a call is left to the model itself."""
        tensors = [leaf for leaf in torch.utils._pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        if reason := reason_outside(tensors):
            return reason
        wants_gradient = torch.is_grad_enabled() and any(
            tensor.requires_grad for tensor in (*tensors, *owned_tensors(self.model).values())
        )
        if torch._C._is_any_autocast_enabled() and not wants_gradient:
            if self._implicit_cast is not None:
                return self._implicit_cast
            if self._dynamo is not None:
                return "autocast is enabled, and the model is not one graph"
        if wants_gradient and not self.options.training:
            advice = "for inference, call it under `torch.no_grad()`"
            self._warn("gradient", f"gradients are enabled, so with `training=False` the model itself runs; {advice}")
            return "a gradient is required"
        return None
