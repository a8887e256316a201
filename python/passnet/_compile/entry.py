"""The call path of a compiled model: generated Python code for one kind of call, with PyTorch's native checks of tensors."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._C._dynamo import guards
from torch.autograd import forward_ad

from passnet import _native
from passnet._backend.saved_tensors import top_hooks
from passnet._compile.capture import Captured
from passnet._compile.facts import buffers_and_modes
from passnet._compile.layout import Assigned, Code, Constant, Layout, Leaf, Refilled
from passnet._compile.layout import Sequence as Items
from passnet._compile.overlap import shares_written_memory
from passnet.kernels._prepared import signature_check

# Calls that the model runs without checks, per call with checks. The period, one call more, is a prime number, so that calls of several
# kinds in turns all get checked at some time.
_CALLS_PER_CHECK = 16
# Hooks of a module; with `_global` before the name, those of all modules.
_HOOKS = ("_backward_pre_hooks", "_backward_hooks", "_forward_pre_hooks", "_forward_hooks")
# Attributes of entries.
_BY_MODEL, _UNCHECKED = "passnet_by_model", "passnet_unchecked"

Entry = Callable[[tuple[Any, ...], dict[str, Any]], Any]

MISS = object()
"""The value that an entry returns for a call of another kind."""


def make_entry(
    captured: Captured,
    run: Callable[..., Sequence[Any]],
    facts: _native.ModuleFacts,
    failed: Callable[[Exception, tuple[Any, ...], dict[str, Any]], Any],
    changed: Callable[[], Any],
) -> Callable[..., Any]:
    """Returns an entry: a function of `(args, kwargs)` that checks a call and runs it, or returns `MISS`.

    `run` takes the inputs that the graph uses and returns its outputs. The entry checks the structure of the arguments, their
    constants, the types, sizes, strides and devices of their tensors and of the model's, PyTorch's global state, and `facts`. If the
    call raises an exception, the entry returns the result of `failed` for this exception and the arguments. If a frozen tensor has
    changed, it returns the result of `changed`.
    """
    code = Code()
    leaves: dict[int, str] = {}
    # Most calls have no keyword arguments. For these the check is the truth value of `kwargs`, which is fast.
    checks = list(_checks(code, captured.call, leaves))
    tensors = [leaves[number] for number in range(len(captured.inputs))]
    lines = [f"    {_variable(number)} = {leaves[number]}" for number in range(len(tensors))]
    variables = ", ".join(_variable(number) for number in range(len(tensors)))
    native = _native_checks(captured, facts, variables, code)
    arguments = ", ".join(_variable(number) for number in captured.used)
    miss, call = code.name(MISS), code.name(run)

    def leaf(number: int) -> str:
        return _output(captured, number, code)

    written = [f"    {line}" for effect in captured.written for line in _write(effect, code, leaf)]
    result = code.builds(captured.output, leaf)
    text = "\n".join(
        [
            "def entry(args, kwargs):",
            "  try:",
            f"    if not ({' and '.join(checks)}):",
            f"        return {miss}",
            *lines,
            f"    if not ({' and '.join(native)}):",
            f"        return {miss}",
            *_frozen(captured, changed, code),
            f"    out = {call}({arguments})",
            *written,
            f"    return {result}",
            "  except Exception as error:",
            f"    return {code.name(failed)}(error, args, kwargs)",
        ]
    )
    return _function(text, code)


def _native_checks(captured: Captured, facts: _native.ModuleFacts, variables: str, code: Code) -> Sequence[str]:
    """Returns the checks of tensors, global state and facts. `variables` are the names of the inputs."""
    native = [
        f"{code.name(signature_check(captured.inputs))}({variables})",
        f"{code.name(guards.GlobalStateGuard().check)}()",
        f"{code.name(facts.hold)}()",
        # The other checks do not notice forward-mode gradients or modes of PyTorch.
        f"{code.name(forward_ad)}._current_level < 0",
        f"not {code.name(torch._C._len_torch_function_stack)}()",
        f"not {code.name(torch._C._len_torch_dispatch_stack)}()",
    ]
    if torch.is_grad_enabled():
        # `reason_outside` has the reason. With gradients disabled, nothing is saved.
        native.append(f"{code.name(top_hooks)}(True) is None")
    native += _read_from_arguments(captured)
    if types := _types(captured):
        native.append(f"{code.name(types)}()")
    return [*native, *_sharing(captured, code)]


def make_model_entry(model: Callable[..., Any], captured: Captured, facts: _native.ModuleFacts) -> Callable[..., Any]:
    """Returns an entry of the form of `make_entry` that runs the model itself.

    The result is right for any call. The checks only leave calls of other kinds, and calls after a change of the model, to other entries.
    """
    code = Code()
    leaves: dict[int, str] = {}
    checks = list(_checks(code, captured.call, leaves))
    tensors = ", ".join(leaves[number] for number in range(len(captured.inputs)))
    checks.append(f"{code.name(signature_check(captured.inputs))}({tensors})")
    if any(tensor.requires_grad for tensor in captured.owned):
        checks.append(f"{code.name(torch.is_grad_enabled)}() is {torch.is_grad_enabled()}")
    checks.append(f"{code.name(facts.hold)}()")
    text = "\n".join(
        [
            "def entry(args, kwargs):",
            "  try:",
            f"    if not ({' and '.join(checks)}):",
            f"        return {code.name(MISS)}",
            "  except Exception:",
            # For example an argument of another type. The exceptions of the model itself go to the caller.
            f"    return {code.name(MISS)}",
            f"  return {code.name(_call_of(model))}(*args, **kwargs)",
        ]
    )
    entry = _function(text, code)
    vars(entry)[_BY_MODEL] = True
    return entry


def _function(text: str, code: Code) -> Entry:
    """Returns the function `entry` that a text defines with the objects that `code` names."""
    namespace = dict(code.names)
    exec(compile(text, "<passnet entry>", "exec"), namespace)
    return namespace["entry"]


def joined(entries: tuple[Entry, ...], entry: Entry, model: Callable[..., Any]) -> tuple[Entry, ...]:
    """Returns the entries with one more.

    If the model runs all these kinds of calls, the first entry runs most calls of any kind without checks, which take longer than
    small models. The other calls pass the checks, so that kinds that are new get compiled.
    """
    known = (*checked(entries), entry)
    return known if not all(hasattr(other, _BY_MODEL) for other in known) else (_unchecked(model), *known)


def checked(entries: Sequence[Entry]) -> Sequence[Entry]:
    """Returns the entries that check calls."""
    return [entry for entry in entries if not hasattr(entry, _UNCHECKED)]


def _unchecked(model: Callable[..., Any]) -> Entry:
    is_checked, call, miss = itertools.cycle([True, *[False] * _CALLS_PER_CHECK]).__next__, _call_of(model), MISS
    has_no_hooks = _no_hooks(model).hold if call is not model else None

    def entry(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return miss if is_checked() else call(*args, **kwargs)

    def entry_of_module(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if is_checked():
            return miss
        # Without hooks, `call` does nothing but call `forward`, after checks in Python that take longer than this one.
        return model.forward(*args, **kwargs) if has_no_hooks() else call(*args, **kwargs)

    made = entry if has_no_hooks is None else entry_of_module
    vars(made)[_UNCHECKED] = True
    return made


def _no_hooks(module: torch.nn.Module) -> _native.ModuleFacts:
    """Returns the fact that a module has no hooks and is not traced, so that a call of it is a call of `forward`."""
    attributes = module.__dict__
    own = [(attributes, name, attributes[name]) for name in _HOOKS]
    shared = [getattr(torch.nn.modules.module, f"_global{name}") for name in _HOOKS]
    sizes = [(hooks, 0) for hooks in (*(hooks for *_, hooks in own), *shared)]
    return _native.ModuleFacts(own, [], [], sizes, [], [], [(torch._C._get_tracing_state, None)], [])


def _call_of(model: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that calls the model: for modules the one below `Module.__call__`, which takes a microsecond only to call it."""
    is_usual = isinstance(model, torch.nn.Module) and type(model).__call__ is torch.nn.Module.__call__
    return model._call_impl if is_usual and model._compiled_call_impl is None else model


def _checks(code: Code, call: Layout, leaves: dict[int, str]) -> Sequence[str]:
    assert isinstance(call, Items)
    args, kwargs = call.items
    assert isinstance(args, Items) and not isinstance(kwargs, (Leaf, Constant, Items))
    checks = [f"len(args) == {len(args.items)}"]
    for place, item in enumerate(args.items):
        checks += code.checks(item, f"args[{place}]", leaves)
    code.containers.append("kwargs")
    if not kwargs.items:
        return [*checks, "not kwargs", *code.others()]
    # A model with `**kwargs` may depend on the order, as where it concatenates the values.
    checks.append(f"[*kwargs] == {[name for name, _ in kwargs.items]!r}")
    for name, item in kwargs.items:
        checks += code.checks(item, f"kwargs[{name!r}]", leaves)
    return [*checks, *code.others()]


def _types(captured: Captured) -> Callable[[], bool] | None:
    """Returns a check of the types of all tensors that the code read and that are no arguments; None if there are none.

    Such a tensor may stay the same object when its type changes, for example by `to(dtype)`. The code may have read the type, the
    sizes and the like, which are then constants of the graph.
    """
    given = {id(tensor) for tensor in captured.inputs}
    read = {id(tensor): tensor for tensor in (*captured.owned, *captured.facts.tensors()) if id(tensor) not in given}
    if not read:
        return None
    tensors = tuple(read.values())
    check = signature_check(list(tensors))
    # With gradients enabled, `requires_grad` of the tensors matters too, and only the slower check has it.
    return functools.partial(check, *tensors) if torch.is_grad_enabled() else _native.TensorTypes(tensors, check).hold


def _frozen(captured: Captured, changed: Callable[[], Any], code: Code) -> Sequence[str]:
    """Returns statements that check whether the graph has constants of tensors that have changed since."""
    tensors = tuple({id(tensor): tensor for tensor in captured.frozen}.values())
    if not tensors:
        return []
    return [
        f"    if not {code.name(_native.TensorVersions(tensors).hold)}():",
        f"        return {code.name(changed)}()",
    ]


def _read_from_arguments(captured: Captured) -> Sequence[str]:
    """Returns checks of what the code read from arguments: storage offsets, missing attributes, and attributes without guards."""
    numbers = {id(tensor): number for number, tensor in enumerate(captured.inputs)}
    placed = {numbers[id(tensor)]: tensor for tensor in captured.facts.placed}
    lacking = sorted({(numbers[id(tensor)], name) for tensor, name in captured.facts.lacking})
    return [
        *(f"{_variable(number)}.storage_offset() == {tensor.storage_offset()}" for number, tensor in placed.items()),
        *(f"not hasattr({_variable(number)}, {name!r})" for number, name in lacking),
        *(f"{_variable(numbers[id(tensor)])}.{name} {text}" for tensor, name, text in captured.facts.unguarded),
    ]


def _sharing(captured: Captured, code: Code) -> Sequence[str]:
    """Returns a check that written arguments share memory with others if and only if they did in the captured call."""
    if not captured.mutated or len(captured.example) < 2:
        return []
    values = ", ".join([*map(_variable, captured.used), *map(code.name, captured.state)])
    written = tuple(sorted(captured.mutated))
    return [f"{code.name(_native.share_memory)}(({values}), {written}) is {shares_written_memory(captured)}"]


def _write(effect: Assigned | Refilled, code: Code, leaf: Callable[[int], str]) -> Sequence[str]:
    """Returns statements that repeat an effect on an argument."""
    value = code.builds(effect.value, leaf)
    if isinstance(effect, Assigned):
        return [f"{code.objects[effect.owner]}[{effect.name!r}] = {value}"]
    container = code.containers[effect.container]
    if isinstance(effect.value, Items):
        return [f"{container}[:] = {value}"]
    # The new items may be read from the dictionary itself, so they are collected before it is cleared.
    return [f"items = {value}", f"{container}.clear()", f"{container}.update(items)"]


def _variable(number: int) -> str:
    return f"x{number}"


def _output(captured: Captured, number: int, code: Code) -> str:
    if number < captured.count:
        return f"out[{number}]"
    number -= captured.count
    if number < len(captured.inputs):
        return _variable(number)
    return code.name(captured.owned[number - len(captured.inputs)])


def facts_of(model: Callable[..., Any], captured: Captured) -> _native.ModuleFacts:
    """Returns the facts about the model and other objects that each call checks: all that the code read, and the buffers and tensor
    attributes that the graph takes.
    """
    facts = captured.facts
    noted = {(id(values), name) for values, name, _ in facts.entries}
    for entry in buffers_and_modes(model, captured.modes, {id(tensor) for tensor in captured.owned}):
        if (id(entry[0]), entry[1]) not in noted:
            facts.entries.append(entry)
    return facts.native()
