"""Translates Dynamo's guards to facts about the object that each guard names, and about the objects on the path to it.

Dynamo's own guards take more time than small graphs, so later calls do not run them. Each guard is reduced to the identity of the
objects on the path to the value that the code read, and to sizes, keys and members of containers. If a guard cannot be reduced, the
capture fails, because later calls could otherwise use an outdated value.
"""

from __future__ import annotations

import ast
import contextvars
import copy
import functools
import os
import re
import threading
import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._dynamo.symbolic_convert import InstructionTranslator
from torch._guards import TracingContext
from torch.nn.modules import module as nn_module

from passnet._compile.attributes import OF_ABSENCE, check_attribute_of_argument, missing_attribute
from passnet._compile.dynamo import functions_of_guards
from passnet._compile.errors import NotCapturedError
from passnet._compile.facts import Facts
from passnet._compile.lookups import FIXED, catches_errors, order_of, places_of
from passnet._compile.traced import note_traced

_STEP = r"(?:\.[A-Za-z_]\w*|\['[^']*'\]|\[\d+\])"
_CHAIN = re.compile(rf"([LG])\['([^']*)'\]((?:{_STEP})*)")
_STEPS = re.compile(_STEP)
_GETATTR = re.compile(r"getattr\((.*), '([^']*)'\)")
# Kinds of guards: on a container's keys or length, on one key of a container, and on a missing attribute.
# PyTorch 2.6 has other names for some of them.
_OF_KEYS = ("DICT_CONST_KEYS", "DICT_KEYS", "DICT_KEYS_MATCH", "MAPPING_KEYS_CHECK")
_OF_SIZE = (*_OF_KEYS, "EMPTY_NN_MODULE_HOOKS_DICT", "SEQUENCE_LENGTH", "LIST_LENGTH")
_OF_MEMBER = ("DICT_CONTAINS", "DICT_NOT_CONTAINS", "SET_CONTAINS", "SET_NOT_CONTAINS")
_OF_CLASS = ("ID_MATCH", "CLASS_MATCH")
_OF_FUNCTION = ("ID_MATCH", "CLOSURE_MATCH", "FUNCTION_MATCH")
_OF_VALUE = ("CONSTANT_MATCH", "EQUALS_MATCH")
# Up to this size, all keys of a dictionary are compared at once instead of one lookup per key.
_FEW_KEYS = 16
# Dynamo's other dictionaries of hooks have entries only if one of these has some.
_OTHER_HOOKS = ("_with_kwargs", "_always_called", "_non_full_backward_hooks")
# Dictionaries of a module that always stay the same objects.
_OF_MODULES = (
    "_parameters",
    "_buffers",
    "_forward_hooks",
    "_forward_pre_hooks",
    "_backward_hooks",
    "_backward_pre_hooks",
)
_OFFSET = ".storage_offset()"
_ABSENT = object()
# Dynamo of PyTorch 2.6 and 2.11 has guards on classes and functions, but no guards on the constants that the code reads from them.
# PyTorch 2.15 was tested and has such guards. The versions between are not tested, and are treated like the older ones.
_GUARDS_CONSTANTS = tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 15)


def facts_read(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Facts:
    """Returns the facts read by the code that Dynamo is capturing. For arguments, only facts about their classes: calls compare the rest.

    Raises `NotCapturedError` if the code depends on something that cannot be checked.
    """
    reader = _Reader(model, args, kwargs, InstructionTranslator.current_tx().f_globals)
    guards = TracingContext.get().guards_context.dynamo_guards
    # `name` is a method until PyTorch 2.14.
    names = [guard.name if isinstance(guard.name, str) else guard.name() for guard in guards]
    for name, guard in zip(names, guards, strict=True):
        # A guard without a name is about PyTorch's global state, which each call compares.
        if name:
            # `create_fn` may be a partial function. PyTorch 2.6 has no attribute with its name.
            create = getattr(guard.create_fn, "func", guard.create_fn)
            reader.read(name, create.__name__, getattr(guard.create_fn, "keywords", {}))
            if not _GUARDS_CONSTANTS:
                reader.note_constants(name, create.__name__)
    if catches_errors(names):
        reader.note_lookups([name for name in names if name])
    for kind in ("forward", "forward_pre", "backward", "backward_pre"):
        reader.note_size(getattr(nn_module, f"_global_{kind}_hooks"))
    note_traced(reader.facts, model, [value for name, value in reader.known.items() if name not in reader.given])
    return reader.facts


class _Reader:
    """Resolves names of guards, such as `L['model']._modules['drop'].p`, and notes facts about the objects on the path."""

    def __init__(self, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], scope: dict[str, Any]) -> None:
        self.facts = Facts()
        self.scope = scope
        self.roots = {"model": model, "args": args, "kwargs": kwargs}
        self.known: dict[str, Any] = {"L['model']": model, "L['args']": args, "L['kwargs']": kwargs}
        # Names of values about which no facts are noted, because each call compares the arguments.
        self.given = {"L['args']", "L['kwargs']"}
        self.noted: set[tuple[Any, ...]] = set()
        # Hooks of a backward matter only with gradients enabled.
        self.unused = (
            _OTHER_HOOKS if torch.is_grad_enabled() else (*_OTHER_HOOKS, "_backward_hooks", "_backward_pre_hooks")
        )
        self.builtins = {id(scope["__builtins__"]), id(vars(__import__("builtins")))}

    def read(self, name: str, kind: str, keywords: dict[str, Any]) -> None:
        if kind == "EMPTY_NN_MODULE_HOOKS_DICT" and name.endswith(self.unused):
            return
        value = self._find(name)
        if name in self.given:
            if (missing := missing_attribute(name, value, kind, keywords, self._find)) is not None:
                self.facts.lacking.append(missing)
            self._note_place(self._find(name.removesuffix(_OFFSET)), value)
            return
        if value is _ABSENT and kind in OF_ABSENCE and self._note_missing(name):
            return
        if value is _ABSENT:
            value = self._evaluated(name)
        if kind in _OF_SIZE and not isinstance(value, (tuple, str)):
            self.note_size(value)
            if kind in _OF_KEYS and isinstance(value, dict):
                self._note_keys(value, len(value))
        elif kind in _OF_MEMBER and "key" in keywords:
            self._note_member(value, keywords["key"])
        elif kind in OF_ABSENCE:
            self.note_size(getattr(value, "__dict__", None))
        elif kind in _OF_VALUE and not isinstance(value, FIXED):
            self._note_content(value)
        elif value is getattr(os.environ, "_data", _ABSENT):
            # Dynamo has no guard on an environment variable that is not set, so the number of variables is noted.
            self.note_size(value)

    def _note_place(self, owner: Any, value: Any) -> None:
        if isinstance(owner, torch.Tensor) and owner is not value:
            self.facts.placed.append(owner)

    def note_size(self, container: Any) -> None:
        if hasattr(container, "__len__") and self._is_new("size", id(container)):
            self.facts.sizes.append((container, len(container)))

    def _note_keys(self, container: dict[Any, Any], count: int) -> None:
        if not self._is_new("keys", id(container), count):
            return
        if (has_same_order := order_of(container)) is not None:
            self.facts.calls.append((has_same_order, True))
        else:
            self.facts.keys.append((container, tuple(container)[:count]))

    def note_lookups(self, names: Sequence[str]) -> None:
        """Notes the sizes of all dictionaries and objects that guards name, because the code may have looked for a missing name there."""
        for value in [self._find(name) for name in names if name not in self.given]:
            for place in places_of(value):
                self.note_size(place)

    def note_constants(self, name: str, kind: str) -> None:
        """Notes the attributes of a class, or the defaults of a function, that a guard names."""
        found = self._find(name)
        if getattr(found, "__module__", None) is None or found.__module__.partition(".")[0] in ("torch", "builtins"):
            return
        if kind in _OF_CLASS and isinstance(found, type):
            for owner, attribute in [(part, attribute) for part in found.__mro__[:-1] for attribute in vars(part)]:
                if not attribute.startswith("__"):
                    self._note_attribute(owner, attribute, vars(owner)[attribute])
        elif kind in _OF_FUNCTION and isinstance(found, types.FunctionType):
            self.facts.members += [(found, part, getattr(found, part)) for part in ("__defaults__", "__kwdefaults__")]

    def _note_attribute(self, kind: type, name: str, found: Any) -> None:
        """Notes that a class has this object under a name."""
        if not self._is_new("class", id(kind), name):
            return
        if getattr(kind, name, _ABSENT) is found:
            self.facts.members.append((kind, name, found))
        else:
            # A lookup of a property or a class method returns another object, so the dictionary of the class is read.
            self.facts.calls.append((functools.partial(vars(kind).get, name), found))

    def _note_member(self, container: Any, key: Any) -> None:
        if isinstance(container, dict) and len(container) <= _FEW_KEYS:
            self.note_size(container)
            self._note_keys(container, len(container))
        elif self._is_new("member", id(container), key):
            self.facts.members_of.append((container, key, key in container))

    def _note_content(self, value: Any) -> None:
        """Notes that a mutable object, such as a set, equals its present value."""
        if not isinstance(value, torch.Tensor) and self._is_new("content", id(value)):
            before = copy.copy(value)
            self.facts.calls.append((lambda: value == before, True))

    def _note_missing(self, name: str) -> bool:
        """Notes that an object lacks the attribute that a name ends with. Returns False if the object has the attribute or is unknown."""
        found = _GETATTR.fullmatch(name)
        path, dot, attribute = found.group(1, 0, 2) if found else name.rpartition(".")
        owner = self._find(path) if dot and (found or attribute.isidentifier()) else _ABSENT
        if owner is _ABSENT or hasattr(owner, attribute):
            return False
        self.facts.calls.append((functools.partial(hasattr, owner, attribute), False))
        return True

    def _is_new(self, *key: Any) -> bool:
        is_new = key not in self.noted
        self.noted.add(key)
        return is_new

    def _find(self, name: str) -> Any:
        """Returns the value that a guard names; `_ABSENT` if the name cannot be resolved."""
        if name not in self.known:
            match = _CHAIN.fullmatch(name)
            self.known[name] = self._expression(name) if match is None else self._chain(name, match)
        return self.known[name]

    def _chain(self, name: str, match: re.Match[str]) -> Any:
        """Returns the value of a chain of attributes and items."""
        path = name[: len(name) - len(match[3])]
        value = self.known.get(path, _ABSENT)
        if match[1] == "G":
            value = self.scope.get(match[2], _ABSENT)
        for step in _STEPS.findall(match[3]):
            if value is _ABSENT:
                return _ABSENT
            if id(value) in self.builtins:
                self.given.add(name)
                return _ABSENT
            value, path = self._step(path, value, step), path + step
        return value

    def _step(self, path: str, owner: Any, step: str) -> Any:
        name = path + step
        if path in self.given:
            self.given.add(name)
        if name not in self.known:
            is_item = step.startswith("[")
            find = self._item if is_item else self._attribute
            self.known[name] = find(
                owner, ast.literal_eval(step[1:-1]) if is_item else step[1:], path not in self.given
            )
        return self.known[name]

    def _expression(self, name: str) -> Any:
        """Returns the value of a name that is more than a chain, such as `dict(type(L['model']).__dict__)['scale'].__defaults__[0]`."""
        text = name.encode()

        def part(node: ast.expr) -> str:
            return text[node.col_offset : node.end_col_offset].decode()

        def value(node: ast.expr, *, passes: bool = True) -> Any:
            found = self._find(part(node))
            if passes and part(node) in self.given:
                self.given.add(name)
            return found

        try:
            tree = ast.parse(name, mode="eval").body
        except SyntaxError:
            return _ABSENT
        match tree:
            case ast.Call(ast.Name("type"), [owner]):
                found = value(owner, passes=False)
                return _ABSENT if found is _ABSENT else type(found)
            case ast.Call(ast.Name("dict"), [ast.Attribute(owner, "__dict__")]):
                return getattr(value(owner), "__dict__", _ABSENT)
            case ast.Subscript(
                ast.Call(ast.Name("dict"), [ast.Attribute(owner, "__dict__")]) | ast.Attribute(owner, "__dict__"),
                ast.Constant(key),
            ) if isinstance(value(owner), type):
                return self._of_class(value(owner), part(owner), key)
            case ast.Subscript(
                ast.Call(
                    ast.Name("list"),
                    [
                        ast.Call(ast.Attribute(ast.Name("dict"), "keys"), [owner])
                        | ast.Call(ast.Attribute(owner, "keys"), [])
                    ],
                ),
                ast.Constant(place),
            ):
                return self._key(value(owner), place, is_noted=name not in self.given)
            case (
                ast.Call(ast.Attribute(ast.Name("dict" | "list" | "tuple"), "__getitem__"), [owner, key])
                | ast.Call(ast.Name("___odict_getitem"), [owner, key])
                | ast.Subscript(owner, key)
            ):
                found = value(owner)
                index = key.value if isinstance(key, ast.Constant) else value(key, passes=False)
                return self._item(found, index, name not in self.given)
            case (
                ast.Attribute(owner, str(attribute))
                | ast.Call(ast.Name("getattr"), [owner, ast.Constant(str(attribute))])
                | ast.Call(ast.Attribute(ast.Name("object"), "__getattribute__"), [owner, ast.Constant(str(attribute))])
            ):
                return self._attribute(value(owner), attribute, name not in self.given)
            case ast.Call(function, [*values]) if all(isinstance(given, ast.Constant) for given in values):
                return self._call(value(function), [given.value for given in values])
        return _ABSENT

    def _evaluated(self, name: str) -> Any:
        """Returns the value of any other name. Each call evaluates the name again and compares the value."""
        if "L['args']" in name or "L['kwargs']" in name:
            return None
        # A copy, because Dynamo removes its own entries from the scope after the capture.
        scope = {**functions_of_guards(), "L": self.roots, "G": dict(self.scope)}
        try:
            code = compile(name, "<guard>", "eval")
            read: Callable[[], Any] = functools.partial(eval, code, scope)
            value = read()
            if read() is value:
                self.facts.calls.append((read, value))
            else:
                before = copy.copy(value)
                self.facts.calls.append((lambda: type(now := read()) is type(before) and bool(now == before), True))
        except Exception:  # Evaluation of an expression may raise any exception.
            raise NotCapturedError(f"the code reads `{name}`, which cannot be checked in later calls") from None
        return value

    def _of_class(self, kind: Any, owner: str, name: str) -> Any:
        """Returns an attribute of a class. Also notes the size of the object's `__dict__`, because an attribute there would hide it."""
        found = vars(kind).get(name, _ABSENT) if isinstance(kind, type) else _ABSENT
        if found is _ABSENT:
            return _ABSENT
        if owner.startswith("type(") and owner[5:-1] not in self.given:
            self.note_size(getattr(self._find(owner[5:-1]), "__dict__", None))
        self._note_attribute(kind, name, found)
        return found

    def _key(self, owner: Any, place: int, *, is_noted: bool) -> Any:
        """Returns the key of a dictionary at a position."""
        if not isinstance(owner, dict) or place >= len(owner):
            return _ABSENT
        if is_noted:
            self._note_keys(owner, place + 1)
        return list(owner)[place]

    def _call(self, function: Any, values: list[Any]) -> Any:
        """Returns the value of a context variable, possibly with a default, or of a weak reference."""
        of = getattr(function, "__self__", None)
        if not isinstance(function, weakref.ref) and not isinstance(of, contextvars.ContextVar):
            return _ABSENT
        try:
            call = functools.partial(function, *values) if values else function
            value = call()
        except LookupError:
            return _ABSENT
        self.facts.calls.append((call, value))
        return value

    def _attribute(self, owner: Any, name: str, is_noted: bool) -> Any:
        if owner is _ABSENT:
            return _ABSENT
        values = getattr(owner, "__dict__", None)
        if not is_noted:
            check_attribute_of_argument(owner, name)
        # The dictionary of a `threading.local` belongs to one thread.
        if is_noted and isinstance(values, dict) and name in values and not isinstance(owner, threading.local):
            if name not in _OF_MODULES:
                self.facts.entries.append((values, name, values[name]))
            return values[name]
        for part in ("_parameters", "_buffers", "_modules") if is_noted and isinstance(owner, torch.nn.Module) else ():
            if name in values[part]:
                return self._item(values[part], name, is_noted)
        try:
            value, again = getattr(owner, name), getattr(owner, name)
        except Exception:  # A property may raise any exception.
            return _ABSENT
        # Each lookup of a method or the like makes a new object, whose identity cannot be compared.
        if again is not value:
            return value
        if is_noted:
            self.facts.members.append((owner, name, value))
        elif isinstance(values, dict) and name not in values:
            # Each call compares attributes of an argument, but not those of its class. PyTorch 2.6 uses the same name for both.
            for part in type(owner).__mro__:
                if vars(part).get(name, _ABSENT) is value:
                    self._note_attribute(part, name, value)
        return value

    def _item(self, owner: Any, key: Any, is_noted: bool) -> Any:
        if owner is _ABSENT or key is _ABSENT:
            return _ABSENT
        if isinstance(owner, dict):
            if key not in owner:
                return _ABSENT
            value = dict.__getitem__(owner, key)
            if is_noted:
                self.facts.entries.append((owner, key, value))
            return value
        if isinstance(owner, (list, tuple)) and isinstance(key, int) and key < len(owner):
            if is_noted and isinstance(owner, list):
                self.facts.items.append((owner, key, owner[key]))
            return owner[key]
        return _ABSENT
