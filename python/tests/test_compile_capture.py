"""A capture notes strides while it runs the graph, notes no stacks, and leaves exceptions and PyTorch's settings as they are."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.fx import traceback

import passnet
from passnet._compile import dynamo, strides
from passnet._compile.capture import capture


@torch.no_grad()
def test_a_capture_takes_no_stacks_and_leaves_those_of_other_graphs():
    def model(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) + 1

    captured = capture(model, (torch.ones(3),), {})
    assert {node.stack_trace for node in captured.module.graph.nodes if node.op == "call_function"} == {
        "captured by PassNet"
    }
    assert not traceback.has_preserved_node_meta() and not traceback.get_current_meta()
    seen: list[str] = []

    def backend(module: torch.fx.GraphModule, _: object) -> object:
        seen.extend(str(node.stack_trace) for node in module.graph.nodes if node.op == "call_function")
        return module.forward

    torch._dynamo.reset()
    torch.compile(model, backend=backend)(torch.ones(3))
    torch._dynamo.reset()
    assert seen and all("torch.relu(x) + 1" in stack for stack in seen)


def test_captures_of_several_threads_leave_the_settings_as_they_are():
    node = torch.fx.Graph().placeholder("x")
    node.meta["key"] = "value"
    # Contexts of two threads that end in the order in which they began, and the run of a graph by a third thread.
    first, second, run = contextlib.ExitStack(), contextlib.ExitStack(), contextlib.ExitStack()
    first.enter_context(dynamo._stackless.context())
    run.enter_context(traceback.set_current_meta(node))
    second.enter_context(dynamo._stackless.context())
    for context in (first, second, run):
        context.close()
    assert not traceback.has_preserved_node_meta() and not traceback.get_current_meta()


@torch.no_grad()
def test_an_exception_of_the_graph_has_the_text_of_the_model(capfd: pytest.CaptureFixture[str]):
    table = torch.nn.Embedding(4, 2)
    index = torch.tensor([9])
    with pytest.raises(IndexError) as expected:
        table(index)
    with pytest.raises(IndexError) as found:
        capture(table, (index,), {})
    assert found.value.args == expected.value.args
    assert not traceback.has_preserved_node_meta()
    assert "While executing" not in capfd.readouterr().err


def test_the_run_of_a_capture_notes_strides(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(strides, "_differs", lambda value, noted: isinstance(noted, torch.Tensor))
    noted: list[torch.Tensor] = []
    monkeypatch.setattr(strides, "without_data", lambda value, _: noted.append(value) or value)
    x = torch.randn(3, requires_grad=True)
    captured = capture(lambda x: torch.relu(x) * 2, (x,), {})
    assert [value.shape for value in noted[-2:]] == [(3,), (3,)] and captured.result.requires_grad
    count = len(noted)
    strides.note_strides(captured.module, [x])
    assert len(noted) == count
    changed = torch.fx.GraphModule(captured.module, captured.module.graph)
    strides.note_strides(changed, [x])
    assert len(noted) > count


SIZES: list[Callable[[torch.Tensor], Any]] = [
    lambda x: x[: int(x.argmax()) % 4 + 1].relu().sum() * 2,
    lambda x: (x.relu() * 2).narrow(0, 0, x.argmax().item() % 4 + 1).sum(),
    lambda x: (x.view(-1)[: int(x.argmax()) % 5 + 1].relu() * 2, int(x.argmax())),
]


@pytest.mark.parametrize("model", SIZES)
@torch.no_grad()
def test_sizes_that_depend_on_values_have_no_strides_to_compare(model: Callable[[torch.Tensor], Any]):
    compiled = passnet.compile(model)
    for number in range(6):
        torch.manual_seed(number)
        x = torch.randn(4, 8)
        torch.testing.assert_close(compiled(x), model(x))


def test_a_capture_looks_for_no_names_of_functions_and_gives_the_function_back(monkeypatch: pytest.MonkeyPatch):
    symbolic_convert = pytest.importorskip("torch._dynamo.symbolic_convert")
    if not hasattr(symbolic_convert, "get_funcname"):
        pytest.skip("this release of Dynamo does not look for names")
    asked: list[str] = []
    monkeypatch.setattr(symbolic_convert, "get_funcname", lambda file, line: asked.append(file))
    find = symbolic_convert.get_funcname
    passnet.compile(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()))(torch.randn(2, 4))
    assert not asked
    assert symbolic_convert.get_funcname is find
