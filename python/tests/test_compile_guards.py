"""`passnet.compile`: what the code reads outside of arguments and modules is checked in each call."""

from __future__ import annotations

import contextvars
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pytest
import torch

import passnet
from compiling import VERSION, check, kinds
from passnet._compile import guards

# Dynamo of PyTorch 2.11 and older captures no context variables.
READS_CONTEXT = VERSION > (2, 11)


class Settings:
    factor = 1.0

    @staticmethod
    def shift() -> float:
        return 1.0


def scale(x: torch.Tensor, factor: float = 2.0) -> torch.Tensor:
    return x * factor


class Reader(torch.nn.Module):
    """Reads from many places; `forward` gets at them in the way that a decorator leaves, through the cells of a closure."""

    names, marks = {"a": 1.0}, {1, 2}
    local, variable = threading.local(), contextvars.ContextVar("variable", default=1.0)

    def __init__(self) -> None:
        super().__init__()
        type(self).names, type(self).marks, type(self).local.factor = {"a": 1.0}, {1, 2}, 1.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.nn.functional.gelu(
            scale(x) * Settings.factor + Settings.shift() + len(self.marks) + (3 in self.marks)
        )
        x = x * self.local.factor + (self.variable.get() if READS_CONTEXT else 1.0) * float(
            os.environ.get("FACTOR_OF_THE_READER", "1")
        )
        for name in self.names:
            x = x + len(name)
        return x + ("key" in self.names)


def _set(place: Any, name: str, value: Any) -> Callable[[pytest.MonkeyPatch, Reader], Any]:
    return lambda monkeypatch, _model: monkeypatch.setattr(place, name, value)


def _rename(_monkeypatch: pytest.MonkeyPatch, model: Reader) -> None:
    model.names["longer"] = model.names.pop("a")


def _exchange(_monkeypatch: pytest.MonkeyPatch, model: Reader) -> None:
    model.marks.remove(1)
    model.marks.add(3)


CHANGES: dict[str, Callable[[pytest.MonkeyPatch, Reader], Any]] = {
    "attribute of a class": _set(Settings, "factor", 3.0),
    "method of a class": _set(Settings, "shift", staticmethod(lambda: 5.0)),
    "default of a function": _set(scale, "__defaults__", (7.0,)),
    "key of a dictionary": _rename,
    "new key": lambda _monkeypatch, model: model.names.update(key=1.0),
    "element of a set": _exchange,
    "attribute of a thread": _set(Reader.local, "factor", 3.0),
    "environment variable": lambda monkeypatch, _model: monkeypatch.setenv("FACTOR_OF_THE_READER", "3"),
}

if READS_CONTEXT:
    CHANGES["context variable"] = lambda _monkeypatch, model: model.variable.set(4.0)


@pytest.mark.parametrize("change", CHANGES)
@torch.no_grad()
def test_changes_elsewhere_are_seen(change: str, monkeypatch: pytest.MonkeyPatch):
    model, x = Reader(), torch.randn(3, 4)
    compiled = passnet.compile(model)
    check(compiled, x)
    before = model(x)

    def changed() -> None:
        CHANGES[change](monkeypatch, model)
        assert not torch.equal(model(x), before)
        check(compiled, x)

    # A context variable has its old value again afterwards.
    contextvars.copy_context().run(changed)
    assert kinds(compiled) == 2 and compiled.report().eager == {}, compiled.report()


@torch.no_grad()
def test_another_thread_has_values_of_its_own():
    model, x = Reader(), torch.randn(3, 4)
    compiled = passnet.compile(model)
    check(compiled, x)
    results = []

    def call() -> None:
        model.local.factor = 9.0
        with torch.no_grad():
            results.extend((compiled(x), model(x)))

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    torch.testing.assert_close(*results, rtol=1e-4, atol=1e-5)
    check(compiled, x)


@pytest.mark.skipif(not READS_CONTEXT, reason="context variables are not captured at all")
@torch.no_grad()
def test_code_that_reads_what_cannot_be_checked_runs_through_torch_compile(monkeypatch: pytest.MonkeyPatch):
    model, x = Reader(), torch.randn(3, 4)
    monkeypatch.setattr(guards._Reader, "_call", lambda *_: guards._ABSENT)
    monkeypatch.setattr(guards, "compile", lambda *_: 1 / 0, raising=False)
    compiled = passnet.compile(model)
    check(compiled, x)
    assert kinds(compiled) == 0
    [reason] = compiled.report().eager
    assert reason.endswith("['variable'].get()`, which cannot be checked in later calls")


class Read(Reader):
    """Has what names of guards can lead to."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = [[1.0, 2.0], ({"b": 3.0},)]
        self.__dict__["no identifier"] = "text"


# In the forms of several versions of PyTorch.
NAMES = {
    "L['model'].layers[0][1]": 2.0,
    "list.__getitem__(list.__getitem__(L['model'].layers, 0), 1)": 2.0,
    "tuple.__getitem__(L['model'].layers[1], 0)['b']": 3.0,
    "getattr(L['model'], 'no identifier')": "text",
    "object.__getattribute__(L['model'], 'training')": True,
    "list(L['model'].names.keys())[0]": "a",
    "L['model'].names[list(dict.keys(L['model'].names))[0]]": 1.0,
    "___odict_getitem(L['model'].names, 'a')": 1.0,
    "type(L['model']).__mro__[1].__dict__['names']['a']": 1.0,
    "dict(type(L['model']).__mro__[1].__dict__)['forward'].__defaults__": None,
    "dict(type(L['model']).__mro__[1].__dict__)['variable'].get(2.0)": 2.0,
    "G['scale'].__defaults__[0]": 2.0,
    "G['Settings'].factor": 1.0,
}


@pytest.mark.parametrize("name", NAMES)
def test_names_of_guards_lead_to_facts(name: str, monkeypatch: pytest.MonkeyPatch):
    model = Read()
    scope = {"__builtins__": {}, "scale": scale, "Settings": Settings}
    reader = guards._Reader(model, (), {}, scope)
    assert reader._find(name) == NAMES[name]
    reader.read(name, "CONSTANT_MATCH", {})
    facts = reader.facts.native()
    assert facts.hold()
    with monkeypatch.context() as patch:
        for owner in (Read, Reader):
            patch.setattr(owner, "names", {"c": 1.0})
        patch.setattr(scale, "__defaults__", (3.0,))
        patch.setattr(Settings, "factor", 7.0)
        patch.setattr(Reader, "forward", lambda model, x: x)
        model.layers, model.training = [[1.0, 5.0], ({"b": 6.0},)], False
        model.__dict__["no identifier"] = "other"
        token = Reader.variable.set(3.0)
        assert not facts.hold()
        Reader.variable.reset(token)


class Empty:
    pass


# Each reads one value, and has a change after which the model reads another one.
def _read_attribute(place: Any) -> float:
    try:
        return place.factor
    except AttributeError:
        return 2.0


def _read_key(place: Any) -> float:
    try:
        return place["factor"]
    except KeyError:
        return 2.0


def _read_in_order(place: Any) -> float:
    total = 0.0
    for name in place:
        total = total * 2 + place[name]
    return total


LOOKUPS: dict[str, tuple[Callable[[Any], float], Callable[[], Any], Callable[[Any], Any]]] = {
    "attribute": (_read_attribute, Empty, lambda place: setattr(place, "factor", 5.0)),
    "key": (_read_key, dict, lambda place: place.update(factor=5.0)),
    "parameter": (
        _read_attribute,
        lambda: torch.nn.Linear(1, 1),
        lambda place: place.register_buffer("factor", torch.ones(())),
    ),
    "order": (_read_in_order, lambda: OrderedDict(a=1.0, b=3.0), lambda place: place.move_to_end("a")),
}


@pytest.mark.parametrize("name", LOOKUPS)
@torch.no_grad()
def test_failed_lookups_and_orders_are_seen(name: str):
    read, make, change = LOOKUPS[name]
    place, x = make(), torch.randn(3, 4)

    def model(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.gelu(x) * 2 + read(place)

    compiled = passnet.compile(model)
    check(compiled, x)
    before = model(x)
    change(place)
    assert not torch.equal(model(x), before)
    check(compiled, x)
    assert kinds(compiled) == 2 and compiled.report().eager == {}, compiled.report()


@torch.no_grad()
def test_an_ordered_dictionary_that_was_reordered_is_compiled_once():
    place, x = OrderedDict(a=1.0, b=3.0), torch.randn(3, 4)
    place.move_to_end("a")
    compiled = passnet.compile(lambda x: torch.nn.functional.gelu(x) * 2 + _read_in_order(place))
    check(compiled, x)
    assert kinds(compiled) == 1 and compiled.report().eager == {}
