"""Captures the graphs of one training step of a model: forward and backward, as AOTAutograd makes them.

Dynamo gives the graph of the model in training mode. AOTAutograd gives the graph of its forward, which also returns the tensors that
the backward needs, and the graph of its backward. Both are called once on real values, so that statistics of saved tensors and of
gradients are measured. Gradients of the results are drawn from N(0, 1).

Operators of aten are written as functions of torch if torch has a function of the same meaning (:mod:`passnet._backend.aten`); others
stay operators of aten. No operator is decomposed into its formula: each is an operator that PyTorch runs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch._functorch.aot_autograd import aot_module_simplified
from torch._functorch.partitioners import default_partition
from torch._subclasses.fake_tensor import FakeTensorMode

from passnet._backend.aten import in_torch
from passnet._backend.stages import without_unused
from passnet._capture.capture import CapturedGraph, CaptureError, capture, close, trace

INFERENCE, FORWARD, BACKWARD = "eval_forward", "train_forward", "train_backward"
"""The stages of a model, and the folders of their graphs."""


class _Stepped(BaseException):
    """Ends a trace after its step is captured. A `BaseException`, because a model might catch an `Exception`."""


def capture_step(
    model: torch.nn.Module,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    before_run: Callable[[], None] = lambda: None,
) -> list[CapturedGraph]:
    """Returns the graphs of a model in evaluation mode, of its forward in training mode, and of its backward, in this order.

    Weights, and results that have gradients, are those of one call. ``before_run`` is called before the values of weights are
    needed. The model stays in training mode.

    Raises :class:`CaptureError` if Dynamo breaks the graph, or if no result of the model has a gradient.
    """
    if not isinstance(model, torch.nn.Module):
        raise CaptureError("a training step can only be captured from a module, and this is a function")
    graphs = capture(model, args, kwargs, before_run)
    if len(graphs) != 1:
        raise CaptureError(
            f"the model has {len(graphs)} graphs; a training step can be captured of a model with one graph only"
        )
    before_run()
    # In a fork, PyTorch makes its thread pool again at the next use. If a thread of autograd uses it at the same time, the process
    # crashes. So the pool is made here.
    torch.set_num_threads(torch.get_num_threads())
    model.train()
    found: list[CapturedGraph] = []

    def backend(module: torch.fx.GraphModule, _example_inputs: list[Any]) -> Callable[..., Any]:
        def run(*values: Any) -> Any:
            found.extend(_step(module, values))
            raise _Stepped

        return run

    try:
        trace(model, args, kwargs or {}, backend, fullgraph=True, gradients=True)
    except _Stepped:
        return [graphs[0].of_stage(INFERENCE), *found]
    raise CaptureError("TorchDynamo found no tensor operation in the model")


def _step(module: torch.fx.GraphModule, values: Sequence[Any]) -> tuple[CapturedGraph, CapturedGraph]:
    """Returns the forward and backward of a graph of Dynamo, called with these values."""
    closed = close(module, values)
    # Read from the original values, because the copies in `closed` are detached.
    wanted = [isinstance(value, torch.Tensor) and value.requires_grad for value in values]
    wanted += [False] * (len(closed.inputs) - len(wanted))
    given = [
        value.detach().requires_grad_(flag) if isinstance(value, torch.Tensor) else value
        for value, flag in zip(closed.inputs, wanted, strict=True)
    ]
    stages: dict[str, _Stage] = {}
    # Makes AOTAutograd compile the backward together with the forward, not at the first run of the backward.
    with torch._functorch.config.patch(force_non_lazy_backward_lowering=True):
        step = aot_module_simplified(
            closed.module,
            given,
            fw_compiler=functools.partial(_Stage.of, stages, FORWARD),
            bw_compiler=functools.partial(_Stage.of, stages, BACKWARD),
            inference_compiler=functools.partial(_Stage.of, stages, INFERENCE),
            partition_fn=default_partition,
            decompositions={},
        )
    step(*given)
    if {FORWARD, BACKWARD} - stages.keys():
        raise CaptureError("no result of the model has a gradient")
    forward, backward = stages[FORWARD], stages[BACKWARD]
    backward(_gradients(forward, backward))
    names = [node.target for node in closed.module.graph.nodes if node.op == "placeholder"]
    return forward.captured(names), backward.captured(names)


def _gradients(forward: _Stage, backward: _Stage) -> list[Any]:
    """Returns the arguments of the backward: values that the forward saved, and gradients of its results.

    The placeholder of a saved value has the name of a result of the forward.
    """
    saved = dict(zip((str(node) for node in forward.module.graph.output_node().args[0]), forward.results, strict=True))
    values = []
    for node in backward.module.graph.find_nodes(op="placeholder"):
        if node.name in saved:
            values.append(saved[node.name])
            continue
        like = node.meta["val"]
        # Without a loss, the gradients of the results are random.
        values.append(torch.randn(like.shape, dtype=like.dtype))
    return values


class _Stage:
    """A graph of AOTAutograd, called with a list of its arguments. Keeps the arguments of its first call."""

    _boxed_call = True

    def __init__(self, name: str, module: torch.fx.GraphModule) -> None:
        self.name = name
        self.module = torch.fx.GraphModule(module, module.graph)
        self.inputs: list[Any] | None = None
        self.results: Sequence[Any] = ()
        if name == BACKWARD:
            without_unused(self.module)

    @staticmethod
    def of(stages: dict[str, _Stage], name: str, module: torch.fx.GraphModule, _example: Sequence[Any]) -> _Stage:
        stages[name] = _Stage(name, module)
        return stages[name]

    def __call__(self, values: list[Any]) -> Any:
        # Copies, because the wrapper of AOTAutograd writes to buffers after the call.
        self.inputs = [
            value.clone() if isinstance(value, torch.Tensor) and not value.requires_grad else value for value in values
        ]
        own = list(values)
        values.clear()
        with torch.no_grad():
            self.results = self.module.forward(*own)
        return self.results

    def captured(self, names: Sequence[str]) -> CapturedGraph:
        """Returns the graph in functions of torch. Its inputs have the names of the model's inputs."""
        if self.inputs is None:
            raise CaptureError(f"the {self.name} was not called")
        graph = CapturedGraph(in_torch(self.module), self.inputs)
        _drop_marks(graph.module)
        if graph.module.graph.find_nodes(op="get_attr"):
            graph = close(graph.module, graph.inputs)
        module = graph.module
        _drop_absent_results(module.graph)
        _rename(module.graph, names)
        _reshape_where_views_fail(module, graph.inputs)
        module.graph.lint()
        module.recompile()
        return graph.of_stage(self.name)


def _drop_marks(module: torch.fx.GraphModule) -> None:
    """Removes `detach`, which has no effect without gradients, and writes constants without elements as calls."""
    for node in list(module.graph.nodes):
        if node.op == "call_function" and node.target is torch.detach:
            node.replace_all_uses_with(node.args[0])
            module.graph.erase_node(node)
        elif node.op == "get_attr" and getattr(module, node.target).numel() == 0:
            value = getattr(module, node.target)
            with module.graph.inserting_before(node):
                made = module.graph.call_function(torch.zeros, (list(value.shape),), {"dtype": value.dtype})
            made.meta["example_value"] = value
            node.replace_all_uses_with(made)
            module.graph.erase_node(node)


def _drop_absent_results(graph: torch.fx.Graph) -> None:
    """Removes results that are None: gradients of inputs that have no gradient."""
    output = graph.output_node()
    output.args = (tuple(value for value in output.args[0] if value is not None),)


def _rename(graph: torch.fx.Graph, names: Sequence[str]) -> None:
    """Renames each input that AOTAutograd numbered, such as ``primals_3``, to the name that Dynamo gave it."""
    for node in graph.find_nodes(op="placeholder"):
        number = node.target.removeprefix("primals_")
        # AOTAutograd counts from 1 and adds further placeholders.
        if number.isdecimal() and 0 < int(number) <= len(names):
            node.target = node.name = names[int(number) - 1]


class _Views(torch.fx.Interpreter):
    """Runs a graph on contiguous inputs, and replaces each `view` that fails on them by a `reshape`."""

    def call_method(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if target != "view":
            return super().call_method(target, args, kwargs)
        try:
            return super().call_method(target, args, kwargs)
        except (RuntimeError, ValueError):
            self.failed = True
            return super().call_method("reshape", args, kwargs)

    def run_node(self, n: torch.fx.Node) -> Any:
        self.failed = False
        result = super().run_node(n)
        if self.failed:
            n.target = "reshape"
        return result


def _reshape_where_views_fail(module: torch.fx.GraphModule, inputs: Sequence[Any]) -> None:
    """Replaces views that fail on contiguous inputs by reshapes.

    Samples have shapes of inputs but no strides, so a saved tensor that was a permuted view is contiguous in its sample.
    """
    with FakeTensorMode(), torch.no_grad():
        fakes = [
            torch.empty(value.shape, dtype=value.dtype) if isinstance(value, torch.Tensor) else value
            for value in inputs
        ]
        try:
            _Views(module).run(*fakes)
        except Exception as error:
            raise CaptureError(f"a graph does not run on contiguous inputs: {error}") from error
