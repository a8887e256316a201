"""`passnet.compile`: whole calls are timed with their guards, and the model itself runs those that are not faster compiled."""

from __future__ import annotations

import math
import threading
import warnings
from typing import Any

import pytest
import torch

import passnet
from compiling import kinds
from passnet._backend.stopwatch import Comparison
from passnet._compile import calls
from passnet._compile.compiled import Compiled

LOSES, WINS, EQUAL = Comparison((1.0,), (2.0,)), Comparison((2.0,), (1.0,)), Comparison((3.0,), (3.0,))


class Scaled(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = 2.0
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x)) * self.scale


@pytest.fixture(autouse=True)
def _calls_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    # On a busy machine, any call can take so long, or gain so much, that it is not timed.
    monkeypatch.setattr(calls, "_LONG_NS", math.inf)
    monkeypatch.setattr(calls, "_GAIN_NS", math.inf)


@pytest.fixture
def loses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "compare_times", lambda *_, **__: LOSES)


def left(**options: Any) -> tuple[Compiled, Scaled, torch.Tensor]:
    model, x = Scaled().eval(), torch.randn(2, 4)
    compiled = passnet.compile(model, **options)
    with torch.no_grad():
        compiled(x)
    return compiled, model, x


def runs_the_model(compiled: Compiled, model: torch.nn.Module, *args: Any) -> bool:
    """Returns whether a call runs the forward that the model has now: compiled calls notice another one only after `refresh`."""
    model.forward = lambda *_: "model"
    try:
        return compiled(*args) == "model"
    finally:
        del model.forward


@pytest.mark.usefixtures("loses")
def test_the_model_runs_a_call_that_is_slower_compiled():
    compiled, model, x = left()
    report = compiled.report()
    assert (report.specialisations[0].model_ns, report.specialisations[0].call_ns) == (1.0, 2.0)
    assert "run by the model itself: with the cost of its guards" in repr(report)
    assert report.eager == {}
    with torch.no_grad():
        assert torch.equal(compiled(x), model(x))
        assert runs_the_model(compiled, model, x)
    assert kinds(compiled) == 1


def test_the_fastest_rounds_decide_where_other_work_disturbs_the_rounds():
    eager, waits = (10.0, 90.0, 10.0, 11.0, 12.0), (90.0, 10.0, 90.0, 90.0, 90.0)
    # The median says that the compiled call takes eight times as long, and the fastest rounds that both take as long.
    assert not calls._loses(Comparison(eager, waits))
    assert calls._loses(Comparison(eager, tuple(2 * wait for wait in waits)))
    # On a quiet machine, the median counts too.
    quiet = Comparison((10.0, 10.0, 10.0), (9.9, 10.3, 10.3))
    assert not quiet.is_disturbed and calls._loses(quiet)


def test_a_call_that_is_faster_stays_compiled(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(calls, "compare_times", lambda *_, **__: WINS)
    compiled, model, x = left()
    assert compiled.report().specialisations[0].by_model is None
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), model(x))


@pytest.mark.parametrize(
    ("device", "in_a_row", "alone", "by_model"),
    [
        ("cuda", WINS, WINS, False),
        ("cuda", LOSES, WINS, True),
        # A busy device hides the guards in a row of calls.
        ("cuda", EQUAL, LOSES, True),
        ("cpu", EQUAL, LOSES, False),
    ],
)
def test_on_a_device_calls_are_also_timed_with_a_wait_after_each(
    monkeypatch: pytest.MonkeyPatch, device: str, in_a_row: Comparison, alone: Comparison, by_model: bool
):
    def given(*_: Any, **options: Any) -> Comparison:
        return alone if options.get("alone") else in_a_row

    monkeypatch.setattr(calls, "compare_times", given)
    monkeypatch.setattr(calls, "device_of", lambda _: torch.device(device))
    compiled, model, x = left()
    report = compiled.report().specialisations[0]
    assert (report.by_model is not None) == by_model
    deciding = LOSES if by_model else in_a_row
    assert (report.model_ns, report.call_ns) == (deciding.eager_ns, deciding.fused_ns)
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), model(x))


@pytest.mark.usefixtures("loses")
def test_other_kinds_of_calls_are_still_compiled(monkeypatch: pytest.MonkeyPatch):
    compiled, model, x = left()
    monkeypatch.setattr(calls, "compare_times", lambda *_, **__: WINS)
    with torch.no_grad():
        for _ in range(20):
            # Only some calls of unknown kinds are examined as long as the model runs all known kinds.
            compiled(torch.randn(3, 4))
        for other in (torch.randn(4, 2).t(), torch.randn(2, 8)[:, ::2]):
            compiled(other)
            torch.testing.assert_close(compiled(other), model(other))
        with torch.autocast("cpu", torch.bfloat16):
            compiled(x)
    compiled(x).sum().backward()
    assert kinds(compiled) == 6
    assert [known.by_model is None for known in compiled.report().specialisations] == [False, *[True] * 5]


@pytest.mark.usefixtures("loses")
def test_a_change_of_the_model_is_noticed_after_some_calls(monkeypatch: pytest.MonkeyPatch):
    compiled, model, x = left()
    monkeypatch.setattr(calls, "compare_times", lambda *_, **__: WINS)
    model.scale = 3.0
    with torch.no_grad():
        for _ in range(400):
            torch.testing.assert_close(compiled(x), model(x))
    assert kinds(compiled) == 2


@pytest.mark.usefixtures("loses")
def test_exceptions_and_modes_of_such_calls_are_those_of_the_model():
    class Looked(torch.nn.Module):
        def forward(self, table: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
            return table[places]

    compiled, table = passnet.compile(Looked()), torch.randn(4, 2)
    places = torch.tensor([1, 3])
    with torch.no_grad():
        compiled(table, places)
        assert compiled.report().specialisations[0].by_model is not None
        with pytest.raises(IndexError):
            compiled(table, torch.tensor([1, 4]))
        assert torch.equal(compiled(table, places=places), table[places])
        with pytest.raises(TypeError):
            compiled(table)
        assert torch.func.vmap(compiled, in_dims=(None, 0))(table, torch.tensor([[1, 3], [0, 2]])).shape == (2, 2, 2)
    found = compiled(table.requires_grad_(), places)
    assert found.requires_grad


@pytest.mark.usefixtures("loses")
def test_hooks_of_the_model_run():
    compiled, model, x = left()
    seen: list[str] = []
    hooks = [
        model.register_forward_hook(lambda *_: seen.append("own")),
        torch.nn.modules.module.register_module_forward_pre_hook(lambda *_: seen.append("global")),
    ]
    with torch.no_grad():
        compiled(x)
        for hook in hooks:
            hook.remove()
        compiled(x)
        assert seen == ["global", "global", "own"]
        # Some programs replace the dictionary of hooks.
        model._forward_hooks = {0: lambda *_: seen.append("replaced")}
        compiled(x)
    assert seen[3:] == ["replaced"]


@pytest.mark.usefixtures("loses")
def test_functions_and_random_numbers():
    def noisy(x: torch.Tensor, *, p: float) -> torch.Tensor:
        return torch.dropout(x, p, True) + 1

    compiled, x = passnet.compile(noisy), torch.randn(8)
    torch.manual_seed(0)
    found = [compiled(x, p=0.5) for _ in range(3)]
    torch.manual_seed(0)
    assert all(torch.equal(noisy(x, p=0.5), value) for value in found)


def test_calls_that_write_and_calls_without_verification_are_not_timed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(calls, "compare_times", lambda *_, **__: pytest.fail("a call was timed"))
    left(verify=False)
    counter = torch.zeros(3)
    compiled = passnet.compile(lambda x: x + counter.add_(1))
    for number in range(1, 4):
        assert torch.equal(compiled(torch.zeros(3)), torch.full((3,), float(number)))


def test_calls_that_write_to_arguments_are_timed_with_copies():
    compiled, x, y = passnet.compile(lambda x, y: y + x["x"].add_(1)), torch.zeros(3), torch.ones(1)
    compiled({"x": x}, y)
    assert torch.equal(x, torch.ones(3))
    assert compiled.report().specialisations[0].call_ns is not None
    for number in range(2, 5):
        assert torch.equal(compiled({"x": x}, y), torch.full((3,), 1.0 + number))
    # The second argument is part of the first one, which copies would not be.
    for number in range(5, 8):
        assert torch.equal(compiled({"x": x}, x[:1]), torch.full((3,), 2.0 * number))


def test_a_failure_while_calls_are_timed_keeps_the_compiled_call(monkeypatch: pytest.MonkeyPatch):
    def fails(*_: Any, **__: Any) -> Comparison:
        raise RuntimeError("no memory")

    monkeypatch.setattr(calls, "compare_times", fails)
    compiled, model, x = left()
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), model(x))
    assert compiled.report().specialisations[0].by_model is None


def test_a_model_that_is_not_compiled_runs_without_further_checks(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("passnet._compile.compiled.build_inference", lambda *_: 1 / 0)
    model, x = Scaled().eval(), torch.randn(2, 4)
    compiled = passnet.compile(model)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        compiled(x)
        monkeypatch.setattr(Compiled, "_eager_reason", lambda *_: pytest.fail("the arguments were examined again"))
        assert torch.equal(compiled(x), model(x))
    (count,) = compiled.report().eager.values()
    assert count == 2


@pytest.mark.usefixtures("loses")
def test_threads_get_their_own_results():
    compiled, model, x = left()
    wrong = []

    def work(number: int) -> None:
        with torch.no_grad():
            value = x + number
            for _ in range(100):
                if not torch.equal(compiled(value), model(value)):
                    wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
