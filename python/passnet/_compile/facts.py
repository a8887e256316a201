"""Facts about Python objects that a captured call depends on: attributes, dictionary entries, globals, cells, hooks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._dynamo.symbolic_convert import InstructionTranslator
from torch._guards import TracingContext
from torch.nn.modules import module as nn_module

from passnet import _native

_STEP = r"(?:\.[A-Za-z_]\w*|\['[^']*'\]|\[\d+\])"
_CHAIN = re.compile(rf"([LG])\['([^']*)'\]((?:{_STEP})*)")
_STEPS = re.compile(_STEP)
_OF_CLASS = re.compile(r"dict\(type\((?P<owner>.+)\)\.__dict__\)\['(?P<name>\w+)'\]")
# Guards of a container's keys or length, and of an attribute that is not there.
_OF_SIZE = (
    "EMPTY_NN_MODULE_HOOKS_DICT",
    "SEQUENCE_LENGTH",
    "DICT_KEYS",
    "DICT_KEYS_MATCH",
    "LIST_LENGTH",
    "SET_CONTAINS",
)
_OF_ABSENCE = ("NOT_PRESENT_IN_GENERIC_DICT", "HASATTR")
# Dynamo's other dictionaries of hooks have entries only where one of these has.
_OTHER_HOOKS = ("_with_kwargs", "_always_called", "_non_full_backward_hooks")
# These dictionaries of a module stay the same objects.
_OF_MODULES = (
    "_parameters",
    "_buffers",
    "_forward_hooks",
    "_forward_pre_hooks",
    "_backward_hooks",
    "_backward_pre_hooks",
)
_ABSENT = object()


@dataclass
class Facts:
    """What has to be as it was when a call was captured."""

    entries: list[tuple[dict[Any, Any], Any, Any]] = field(default_factory=list)
    """A dictionary, a key, and the object that is there."""
    members: list[tuple[Any, Any, Any]] = field(default_factory=list)
    """An object, the name of an attribute, and its value, for objects without a dictionary."""
    items: list[tuple[Any, Any, Any]] = field(default_factory=list)
    """A sequence, a place, and the object that is there."""
    sizes: list[tuple[Any, int]] = field(default_factory=list)
    """A container and its length."""

    def tensors(self) -> Iterator[torch.Tensor]:
        """The tensors among the objects, whose identity each call checks."""
        for _, _, value in (*self.entries, *self.members, *self.items):
            if isinstance(value, torch.Tensor):
                yield value

    def native(self) -> _native.ModuleFacts:
        """The facts, ready to be checked."""
        return _native.ModuleFacts(self.entries, self.members, self.items, self.sizes)


def facts_read(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Facts:
    """Facts that the code read which Dynamo captures now, by Dynamo's guards. Of arguments they are those about classes; each call
    compares the rest.

    Dynamo's guards are not run on later calls, since they cost more than small graphs take: each is reduced to the identity of
    the objects on the way to what the code read.
    """
    reader = _Reader(model, args, kwargs, InstructionTranslator.current_tx().f_globals)
    for guard in TracingContext.get().guards_context.dynamo_guards:
        # A method until PyTorch 2.14.
        name = guard.name if isinstance(guard.name, str) else guard.name()
        reader.read(name, guard.create_fn_name())
    for kind in ("forward", "forward_pre", "backward", "backward_pre"):
        reader.note_size(getattr(nn_module, f"_global_{kind}_hooks"))
    return reader.facts


class _Reader:
    """Resolves names of Dynamo's guards, such as `L['model']._modules['drop'].p`, and notes what is on their way."""

    def __init__(self, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], scope: dict[str, Any]) -> None:
        self.facts = Facts()
        self.arguments = {"L['args']": args, "L['kwargs']": kwargs}
        self.scope = scope
        self.known: dict[str, Any] = {"L['model']": model}
        self.sizes: set[int] = set()
        # Hooks of a backward matter where there is one.
        self.unused = (
            _OTHER_HOOKS if torch.is_grad_enabled() else (*_OTHER_HOOKS, "_backward_hooks", "_backward_pre_hooks")
        )
        self.builtins = {id(scope["__builtins__"]), id(vars(__import__("builtins")))}

    def read(self, name: str, kind: str) -> None:
        if kind == "EMPTY_NN_MODULE_HOOKS_DICT" and name.endswith(self.unused):
            return
        if (match := _CHAIN.fullmatch(name)) is not None:
            value = self._resolve(name, match)
        else:
            value = _ABSENT
            for part in _CHAIN.finditer(name):
                self._resolve(part[0], part)
            if (match := _OF_CLASS.fullmatch(name)) is not None:
                self._of_class(match["owner"], match["name"])
        if value is _ABSENT:
            return
        if kind in _OF_SIZE and not isinstance(value, (tuple, str)):
            self.note_size(value)
        elif kind in _OF_ABSENCE:
            self.note_size(getattr(value, "__dict__", None))

    def note_size(self, container: Any) -> None:
        if hasattr(container, "__len__") and id(container) not in self.sizes:
            self.sizes.add(id(container))
            self.facts.sizes.append((container, len(container)))

    def _of_class(self, owner: str, name: str) -> None:
        """An attribute of the class of an object, which one of the object itself would hide."""
        value = self.known.get(owner, _ABSENT)
        if value is not _ABSENT:
            self.note_size(getattr(value, "__dict__", None))
        elif (value := self._argument(owner)) is _ABSENT:
            return
        kind = type(value)
        found = vars(kind).get(name, _ABSENT)
        if found is not _ABSENT and getattr(kind, name, _ABSENT) is found:
            self.facts.members.append((kind, name, found))

    def _argument(self, name: str) -> Any:
        """An argument, or a part of one; nothing is noted about it."""
        match = _CHAIN.fullmatch(name)
        value = _ABSENT if match is None else self.arguments.get(f"{match[1]}['{match[2]}']", _ABSENT)
        for step in _STEPS.findall(match[3]) if value is not _ABSENT and match is not None else ():
            try:
                value = value[ast.literal_eval(step[1:-1])] if step.startswith("[") else getattr(value, step[1:])
            except Exception:  # Any that a property raises.
                return _ABSENT
        return value

    def _resolve(self, name: str, match: re.Match[str]) -> Any:
        """The value of a chain of attributes and items; `_ABSENT` if it is none that can be followed."""
        if name in self.known:
            return self.known[name]
        steps = _STEPS.findall(match[3])
        path = name[: len(name) - len(match[3])]
        value = self.known.get(path, _ABSENT)
        if match[1] == "G":
            value = self.scope.get(match[2], _ABSENT)
        for step in steps:
            if value is _ABSENT or id(value) in self.builtins:
                return _ABSENT
            path += step
            if path not in self.known:
                self.known[path] = self._step(value, step)
            value = self.known[path]
        return value

    def _step(self, owner: Any, step: str) -> Any:
        if step.startswith("["):
            return self._item(owner, ast.literal_eval(step[1:-1]))
        name = step[1:]
        values = getattr(owner, "__dict__", None)
        if isinstance(values, dict) and name in values:
            if name not in _OF_MODULES:
                self.facts.entries.append((values, name, values[name]))
            return values[name]
        for part in ("_parameters", "_buffers", "_modules") if isinstance(owner, torch.nn.Module) else ():
            if name in values[part]:
                return self._item(values[part], name)
        try:
            value = getattr(owner, name)
        except Exception:  # Any that a property raises.
            return _ABSENT
        # Methods and the like are made for each look-up.
        if getattr(owner, name) is value:
            self.facts.members.append((owner, name, value))
        return value

    def _item(self, owner: Any, key: Any) -> Any:
        if isinstance(owner, dict):
            if key not in owner:
                return _ABSENT
            value = dict.__getitem__(owner, key)
            self.facts.entries.append((owner, key, value))
            return value
        if isinstance(owner, (list, tuple)) and isinstance(key, int) and key < len(owner):
            if isinstance(owner, list):
                self.facts.items.append((owner, key, owner[key]))
            return owner[key]
        return _ABSENT


def buffers_and_modes(
    model: Any, modes: list[str] | None, taken: set[int]
) -> Iterator[tuple[dict[str, Any], str, Any]]:
    """Entries of dictionaries: flags `training` that the code read, and the buffers and tensor attributes that a graph takes.

    `modes` has the names of the modules whose flag was read, `None` if that is not known; `taken` has identities of tensors.
    """
    if not isinstance(model, torch.nn.Module):
        return
    read = None if modes is None else {id(model.get_submodule(path)) for path in modes}
    for module in model.modules():
        attributes = module.__dict__
        if "training" in attributes and (read is None or id(module) in read):
            yield attributes, "training", module.training
        for values in (module._buffers, attributes):
            yield from ((values, name, value) for name, value in values.items() if id(value) in taken)
