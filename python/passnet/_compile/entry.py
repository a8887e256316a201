"""The call path of a compiled model: generated Python code for one kind of call, with PyTorch's native checks of tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._C._dynamo import guards
from torch.autograd import forward_ad

from passnet import _native
from passnet._compile.capture import Captured
from passnet._compile.facts import buffers_and_modes
from passnet._compile.layout import Assigned, Code, Constant, Layout, Leaf, Refilled
from passnet._compile.layout import Sequence as Items
from passnet.kernels._prepared import signature_check

MISS = object()
"""The value that an entry returns for a call of another kind."""


def make_entry(
    captured: Captured,
    run: Callable[..., Sequence[Any]],
    facts: _native.ModuleFacts,
    failed: Callable[[Exception, tuple[Any, ...], dict[str, Any]], Any],
) -> Callable[..., Any]:
    """Returns an entry: a function of `(args, kwargs)` that checks a call and runs it, or returns `MISS`.

    `run` takes the inputs that the graph uses and returns its outputs. The entry checks the structure of the arguments, their
    constants, the types, sizes, strides and devices of their tensors, PyTorch's global state, and `facts`. With gradients
    enabled, it also checks the types of parameters, which include `requires_grad`. If the call raises an exception, the entry
    returns the result of `failed` for this exception and the arguments.
    """
    code = Code()
    leaves: dict[int, str] = {}
    # Most calls have no keyword arguments. For these the check is the truth value of `kwargs`, which is fast.
    checks = list(_checks(code, captured.call, leaves))
    tensors = [leaves[number] for number in range(len(captured.inputs))]
    lines = [f"    {_variable(number)} = {leaves[number]}" for number in range(len(tensors))]
    variables = ", ".join(_variable(number) for number in range(len(tensors)))
    native = [
        f"{code.name(signature_check(captured.inputs))}({variables})",
        f"{code.name(guards.GlobalStateGuard().check)}()",
        f"{code.name(facts.hold)}()",
        # The other checks do not notice forward-mode gradients or modes of PyTorch.
        f"{code.name(forward_ad)}._current_level < 0",
        f"not {code.name(torch._C._len_torch_function_stack)}()",
        f"not {code.name(torch._C._len_torch_dispatch_stack)}()",
    ]
    native += _offsets(captured)
    # With gradients disabled, `requires_grad` of parameters does not matter.
    if torch.is_grad_enabled() and captured.owned:
        native.append(f"{code.name(signature_check(captured.owned))}(*{code.name(tuple(captured.owned))})")
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
            f"    out = {call}({arguments})",
            *written,
            f"    return {result}",
            "  except Exception as error:",
            f"    return {code.name(failed)}(error, args, kwargs)",
        ]
    )
    namespace = dict(code.names)
    exec(compile(text, "<passnet entry>", "exec"), namespace)
    return namespace["entry"]


def _checks(code: Code, call: Layout, leaves: dict[int, str]) -> Sequence[str]:
    assert isinstance(call, Items)
    args, kwargs = call.items
    assert isinstance(args, Items) and not isinstance(kwargs, (Leaf, Constant, Items))
    checks = [f"len(args) == {len(args.items)}"]
    for place, item in enumerate(args.items):
        checks += code.checks(item, f"args[{place}]", leaves)
    code.containers.append("kwargs")
    if not kwargs.items:
        return [*checks, "not kwargs"]
    names = {name for name, _ in kwargs.items}
    # Callers may pass keyword arguments in any order.
    checks.append(f"kwargs.keys() == {code.name(names)}")
    for name, item in kwargs.items:
        checks += code.checks(item, f"kwargs[{name!r}]", leaves)
    return checks


def _offsets(captured: Captured) -> Sequence[str]:
    """Returns checks of the arguments whose storage offset the code read."""
    numbers = {id(tensor): number for number, tensor in enumerate(captured.inputs)}
    placed = {numbers[id(tensor)]: tensor for tensor in captured.facts.placed}
    return [f"{_variable(number)}.storage_offset() == {tensor.storage_offset()}" for number, tensor in placed.items()]


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
