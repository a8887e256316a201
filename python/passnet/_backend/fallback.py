"""Replacements that are correct for all calls. A replacement runs if its results are those of PyTorch; else PyTorch computes the pattern.

A pass is written for some calls and not for others. PassNet decides for each signature of arguments:

1. If a gradient is required, a tensor has no memory, autocast changes the pattern or the like, PyTorch computes the pattern.
2. The first call of a signature runs pattern and replacement. If the results differ, PyTorch computes all calls of this signature.
3. Later calls of a signature run the replacement.

A replacement that raises an exception refuses the call, and PyTorch computes the pattern.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.fx
from torch.autograd import forward_ad

from passnet import _native
from passnet._backend.binding import bound_replacement, selector
from passnet._backend.compare import Inexact, difference, other_kinds, other_sharing
from passnet._backend.effects import change_by_autocast, count_writes, effects_of
from passnet._backend.modes import autocast_devices
from passnet._backend.precision import exact_results, is_as_precise
from passnet._passes.load import Pass
from passnet._warning import warn
from passnet.kernels import _prepared
from passnet.kernels._errors import is_fatal

# Number of signatures that a pass remembers. Later ones are treated like the first signature of the same kind, which is without sizes.
MAX_SIGNATURES = 16


@dataclass(frozen=True)
class Refusal:
    """Reason why a call is left to PyTorch: the kind of reason, for which a pass warns once, and a sentence."""

    kind: str
    reason: str


@dataclass
class Refusals:
    """The calls of one pass in one graph that were left to PyTorch.

    `warned` has the kinds of reasons that a warning named. All graphs that a pass is used in share this set.
    """

    name: str
    warned: set[str] = field(default_factory=set)
    counts: dict[Refusal, int] = field(default_factory=dict)
    warns: bool = True
    """True if the first call of each kind of reason causes a warning, as for a pass that the user gave."""
    results_may_change: bool = True
    """True if two results of the pass may be written to after a call. Then results must share memory as those of the pattern do."""

    def add(self, refusal: Refusal) -> None:
        """Counts a call, and warns if it is the first of its kind."""
        self.counts[refusal] = self.counts.get(refusal, 0) + 1
        if self.warns and refusal.kind not in self.warned:
            self.warned.add(refusal.kind)
            message = f"PyTorch computes what pass `{self.name}` would replace: {refusal.reason}"
            warn(message)


def with_fallback(rule: Pass, refusals: Refusals, *, verify: bool = True) -> Pass:
    """Returns the pass with a replacement that is correct for all calls. Without `verify`, no values are compared, only types and
    strides.
    """
    decisions = _Decisions(rule, refusals, verify)
    signatures, run = decisions.signatures, decisions.run

    # Nearly all calls take this path. It calls no method, to keep the overhead small.
    def replacement(*values: Any) -> Any:
        for signature in signatures:
            if signature.check(*(values if signature.tensors is None else signature.tensors(values))) and (
                signature.has_only_tensors or signature.agrees(values)
            ):
                if (
                    signature.is_fit
                    and forward_ad._current_level < 0
                    and not (signature.requires_grad and torch.is_grad_enabled())
                ):
                    try:
                        return run(*values)
                    except Exception as error:
                        return decisions.after_exception(error, values)
                return decisions.decide(signature, values)
        return decisions.decide(decisions.learn(values), values)

    safe = dataclasses.replace(rule, replacement=replacement, replacement_args=lambda *values: values)
    # Shared with the original pass, so that it is computed once for a pass and not for each graph.
    vars(safe).update(canonical=rule.canonical, origin=rule, refusals=refusals)
    return safe


def or_pattern(
    rule: Pass, run: Callable[..., Any], refusals: Refusals, written: Sequence[int] = ()
) -> Callable[..., Any]:
    """Returns `run`, the replacement as a function of the values of the pattern's parameters, with a way back to PyTorch.

    If `run` raises an exception before a kernel was launched, PyTorch computes the pattern. This checks nothing else, so the calls
    must be those that the replacement was compared for. `written` are the positions of the values that it writes to.
    """
    launches = _native.launches
    decisions = _Decisions(rule, refusals, verify=False)

    # A new function of this module for each pass. FX calls it by its name.
    def replacement(*values: Any) -> Any:
        before = launches()
        try:
            return run(*values)
        except Exception as error:
            return decisions.after_attempt(error, values, before)

    def writing_replacement(*values: Any) -> Any:
        result = replacement(*values)
        count_writes(values, written)
        return result

    return writing_replacement if written else replacement


class _Decisions:
    """Decides which calls of a pass are left to its pattern."""

    def __init__(self, rule: Pass, refusals: Refusals, verify: bool) -> None:
        self.rule = rule
        self.refusals = refusals
        self.verify = verify
        self.run = bound_replacement(rule)
        self.signatures: list[_Signature] = []
        self.kinds: dict[tuple, _Signature] = {}

    @functools.cached_property
    def original(self) -> Callable[..., Any]:
        """The pattern as a function."""
        return torch.fx.GraphModule({}, self.rule.pattern).forward

    def decide(self, signature: _Signature, values: tuple) -> Any:
        """Returns the result of a call of this signature."""
        refusal = signature.refusal
        if refusal is None:
            if signature.requires_grad and torch.is_grad_enabled():
                refusal = _wants_gradient(self.rule, values)
            elif forward_ad._current_level >= 0:
                refusal = Refusal("gradient", "a gradient is required in forward mode, and passes have no derivative")
            elif not signature.is_checked:
                return self.first_call(signature, values)
            else:
                # Checked in each call, because the signature does not contain whether tensors share memory.
                refusal = overlap(self.rule, values, signature.mutated)
                if refusal is None:
                    return self.run_in_place(values, signature.mutated)
        return self.left(refusal, values)

    def left(self, refusal: Refusal, values: tuple) -> Any:
        """Returns the result of a call that is left to PyTorch."""
        self.refusals.add(refusal)
        return self.original(*values)

    def after_exception(self, error: Exception, values: tuple) -> Any:
        """Returns the result of a call whose replacement raised this exception before it changed anything."""
        if is_fatal(error):
            raise error
        return self.left(_refused(error), values)

    def run_in_place(self, values: tuple, mutated: Sequence[int]) -> Any:
        """Returns the result of a call that writes to its arguments."""
        before = _native.launches()
        try:
            result = self.run(*values)
        except Exception as error:
            return self.after_attempt(error, values, before)
        count_writes(values, mutated)
        return result

    def after_attempt(self, error: Exception, values: tuple, launches: int) -> Any:
        """Returns the result of a call that may write to its arguments and raised this exception. `launches` is the count before it."""
        # If a kernel was launched, the arguments may be partly written, and the pattern would start from wrong values.
        if _native.launches() != launches:
            raise error
        return self.after_exception(error, values)

    def learn(self, values: tuple) -> _Signature:
        refusal = _unfit(self.rule, values)
        if refusal is None and _autocast() is not None and (change := change_by_autocast(self.original, values)):
            refusal = Refusal("autocast", f"autocast changes what the pattern computes ({change})")
        if refusal is not None:
            # Not kept in the table, which such signatures would fill. The check is repeated in each of these calls.
            signature = _Signature(())
            signature.refusal = refusal
        elif len(self.signatures) < MAX_SIGNATURES:
            signature = _Signature(values)
            self.signatures.append(signature)
        elif (signature := self.kinds.get(kind := _kind(values))) is None:
            signature = self.kinds[kind] = _Signature(values)
        return signature

    def first_call(self, signature: _Signature, values: tuple) -> Any:
        """Runs pattern and replacement, and decides for later calls. Returns the result of PyTorch if values are compared."""
        effects = effects_of(self.original, values)
        mutated = _tensor_places(values) if effects is None else sorted(effects.mutated)
        if refusal := overlap(self.rule, values, mutated):
            signature.refusal = refusal
            return self.left(refusal, values)
        # The replacement writes to the caller's tensors first. The copies let PyTorch start from the same contents.
        before = {place: values[place].clone() for place in mutated}
        try:
            found = self.run(*values)
        except Exception as error:
            _restore(values, before)
            return self.after_exception(error, values)
        if (effects is not None and effects.is_random) or _is_capturing():
            signature.set_checked(mutated)
            count_writes(values, mutated)
            return found
        after = [values[place].clone() for place in mutated]
        _restore(values, before)
        expected = self.original(*values)
        ours, theirs = (found, *after), (expected, *(values[place] for place in mutated))
        # The strides of the real result count: those of a result without data may be others.
        reason = difference(ours, theirs, values) if self.verify else other_kinds(found, expected)
        if isinstance(reason, Inexact):
            given = [before.get(place, value) for place, value in enumerate(values)]
            exact = exact_results(self.original, given)
            if exact is not None and is_as_precise(ours, theirs, (exact[0], *(exact[1 + place] for place in mutated))):
                reason = None
        if reason is None and self.refusals.results_may_change:
            reason = other_sharing(found, expected)
        if reason is None:
            signature.set_checked(mutated)
        else:
            signature.refusal = Refusal("difference", f"its result is not PyTorch's: {reason}")
            self.refusals.add(signature.refusal)
        # Without values to compare, a call that writes to nothing has the result that later calls have.
        return found if reason is None and not self.verify and not mutated else expected


class _Signature:
    """Properties of calls that are treated in the same way, and the decision for these calls.

    The properties are types, sizes, strides, devices and `requires_grad` of tensors, the values of other arguments, and autocast.
    """

    __slots__ = (
        *("autocast", "check", "constants", "has_only_tensors", "is_checked", "is_fit", "mutated", "others", "refusal"),
        *("requires_grad", "tensors", "twins"),
    )

    def __init__(self, values: Sequence[Any]) -> None:
        places = _tensor_places(values)
        first = {id(values[place]): place for place in reversed(places)}
        unique = [place for place in places if first[id(values[place])] == place]
        tensors = [values[place] for place in unique]
        self.tensors = None if unique == list(range(len(values))) else selector(unique)
        self.twins = [(place, first[id(values[place])]) for place in places if place not in unique]
        self.check = _prepared.signature_check(tensors)
        self.others = selector([place for place in range(len(values)) if place not in places])
        self.constants = _typed(self.others(values))
        self.requires_grad = any(tensor.requires_grad for tensor in tensors)
        self.autocast = _autocast()
        self.has_only_tensors = self.tensors is None and self.autocast is None
        self.refusal: Refusal | None = None
        self.is_checked = False
        """True if the replacement has been tried."""
        self.is_fit = False
        """True if the replacement is used for all calls except those that require a gradient."""
        self.mutated: Sequence[int] = ()
        """Positions of the tensors that a call writes to."""

    def set_checked(self, mutated: Sequence[int]) -> None:
        """Records that the replacement agrees with the pattern and writes to these tensors."""
        self.is_checked, self.is_fit, self.mutated = True, not mutated, mutated

    def agrees(self, values: tuple) -> bool:
        """Returns whether the properties are the same that PyTorch's native check does not cover."""
        return (
            (not self.constants or _typed(self.others(values)) == self.constants)
            and (not self.twins or all(values[place] is values[first] for place, first in self.twins))
            and (self.autocast is None or self.autocast == _autocast())
        )


def _kind(values: Sequence[Any]) -> tuple:
    """Returns the properties, other than sizes, that a pass probably depends on: types, layouts, sizes of 1, and which shapes are equal."""
    shapes = [getattr(value, "shape", None) for value in values]
    kinds: list[Any] = [_autocast(), torch.is_inference_mode_enabled()]
    for value in values:
        if isinstance(value, torch.Tensor):
            kinds += [value.dtype, value.device, value.requires_grad, value.is_contiguous(), shapes.index(value.shape)]
            kinds.append(tuple(size == 1 for size in value.shape))
        else:
            kinds.append(type(value))
    return tuple(kinds)


def _tensor_places(values: Sequence[Any]) -> list[int]:
    return [place for place, value in enumerate(values) if isinstance(value, torch.Tensor)]


def _typed(values: Sequence[Any]) -> list[tuple[type, Any]]:
    # With the type, because 1, 1.0 and True are equal. With `repr`, because 0.0 and -0.0 are equal. Tensors cannot be compared; calls with
    # a tuple of tensors are all refused.
    return [(type(value), "" if _holds_tensors(value) else _comparable(value)) for value in values]


def _comparable(value: Any) -> Any:
    return repr(value) if isinstance(value, float) else value


def _holds_tensors(value: Any) -> bool:
    """Returns whether a value is a sequence or dictionary that has a tensor. A pattern takes it for a tensor if it only indexes it."""
    if isinstance(value, dict):
        value = tuple(value.values())
    return isinstance(value, (tuple, list)) and any(
        isinstance(item, torch.Tensor) or _holds_tensors(item) for item in value
    )


def _autocast() -> tuple | None:
    """Returns the state of autocast if it is enabled, else None."""
    if not torch._C._is_any_autocast_enabled():
        return None
    return tuple((device, torch.get_autocast_dtype(device)) for device in autocast_devices())


def _unfit(rule: Pass, values: Sequence[Any]) -> Refusal | None:
    """Returns the reason why no pass can be used for such tensors; None if a pass can be used."""
    devices = set()
    for name, value in zip(rule.parameters, values, strict=True):
        if _holds_tensors(value):
            return Refusal("tensor", f"`{name}` is a `{type(value).__name__}` of tensors")
        if not isinstance(value, torch.Tensor):
            continue
        if fault := _fault(value):
            return Refusal("tensor", f"`{name}` {fault}")
        devices.add(value.device)
    if len(devices) > 1:
        return Refusal("tensor", f"the tensors are on {' and '.join(sorted(map(str, devices)))}")
    return None


def _fault(tensor: torch.Tensor) -> str | None:
    """Returns an unusual property of a tensor that kernels do not support; None if it has no such property."""
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        return f"is a `{type(tensor).__name__}`, a subclass of torch.Tensor"
    if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        return "is under a transform of torch.func"
    if tensor.layout != torch.strided or tensor.is_nested:
        return f"is {'nested' if tensor.is_nested else tensor.layout}, not a strided tensor"
    if tensor.is_quantized:
        return "is quantized"
    if tensor.is_meta:
        return "is on the device `meta` and has no data"
    if tensor.is_conj() or tensor.is_neg():
        return "is a lazily conjugated or negated view"
    if tensor.numel() == 0:
        return "has no elements"
    return None


def _wants_gradient(rule: Pass, values: Sequence[Any]) -> Refusal:
    wanted = [
        name for name, value in zip(rule.parameters, values, strict=True) if getattr(value, "requires_grad", False)
    ]
    advice = "passes have no backward; for inference, call the model under `torch.no_grad()`"
    return Refusal("gradient", f"a gradient of `{wanted[0]}` is required, and {advice}")


def _refused(error: Exception) -> Refusal:
    text = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
    return Refusal("refused", f"its replacement refuses the arguments: {text}")


def overlap(rule: Pass, values: Sequence[Any], mutated: Sequence[int]) -> Refusal | None:
    """Returns a refusal if the pass writes to a tensor that shares memory with another argument."""
    tensors = {place: values[place].untyped_storage()._cdata for place in _tensor_places(values)}
    for place in mutated:
        for other, storage in tensors.items():
            if place != other and storage == tensors[place]:
                names = f"`{rule.parameters[place]}` and `{rule.parameters[other]}`"
                return Refusal("overlap", f"{names} share memory, and the pattern writes to it")
    return None


def _restore(values: Sequence[Any], saved: dict[int, torch.Tensor]) -> None:
    with torch.no_grad():
        for place, value in saved.items():
            values[place].copy_(value)


def _is_capturing() -> bool:
    """Returns whether a CUDA graph is being captured. Then results have no values that could be compared."""
    return torch.cuda.is_available() and torch.cuda.is_current_stream_capturing()
