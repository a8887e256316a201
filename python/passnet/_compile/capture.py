"""Captures one call of a model by Dynamo: the graph, the source of each of its inputs, and the layout of its result."""

from __future__ import annotations

import builtins
import contextlib
import itertools
import re
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch._dynamo
import torch.fx
from torch._dynamo.symbolic_convert import InstructionTranslator
from torch._guards import TracingContext

from passnet._backend import triton_ready
from passnet._backend.effects import effects_of
from passnet._backend.regions import fork_random
from passnet._backend.sharing import root_of
from passnet._compile.attributes import unguarded, unguarded_names
from passnet._compile.dynamo import call_captured, forget_guards
from passnet._compile.errors import NotCapturedError
from passnet._compile.facts import Facts, owned_tensors
from passnet._compile.guards import facts_read
from passnet._compile.instances import Arguments
from passnet._compile.layout import Assigned, Layout, LayoutError, Leaf, Refilled, layout_of
from passnet._compile.outputs import output_layouts
from passnet._compile.outside import reason_outside
from passnet._compile.refused import refusal_of
from passnet._compile.strides import run_noting_strides
from passnet._summary import message_and_line

# Largest number of elements of an argument that may be a counter.
_COUNTER = 256

# Functions that write to a tensor, or give access to its memory, without an increment of its version counter.
_UNCOUNTED = ("_get_data_attr", "_unsafe_set_version_counter", "shallow_copy_data_")

_numbers = itertools.count(1)
_SUBMODULE = re.compile(r"\._modules\['([^']+)'\]")
_MODE = re.compile(r"L\['model'\](\._modules\['[^']+'\])*\.training")


@dataclass
class Captured:
    """One graph for calls of one kind."""

    module: torch.fx.GraphModule
    """Takes the inputs that the graph uses, then the state; returns a tuple."""
    call: Layout
    """Layout of the arguments, `(args, kwargs)`; its leaves are the numbers of the inputs."""
    inputs: list[torch.Tensor]
    """The tensors among the arguments."""
    used: list[int]
    """Numbers of the inputs that the graph takes."""
    state: list[torch.Tensor]
    """Parameters, buffers and other tensors of the model that the graph takes."""
    owned: list[torch.Tensor]
    """The tensors of `state` at the time of capture. `state` changes when weights are folded."""
    output: Layout
    """Layout of the result; its leaves are outputs of the graph, then inputs, then `owned`."""
    count: int
    """Number of outputs of the graph."""
    mutated: frozenset[int]
    """Positions of the arguments that the graph writes to."""
    counters: dict[int, torch.Tensor]
    """Small tensors among `mutated`, with their values before the call, e.g. a position in a cache that decides where the next call writes."""
    written: tuple[Assigned | Refilled, ...]
    """Effects of the call on objects and containers among the arguments, in order. Leaves have the same numbers as in `output`."""
    modes: list[str] | None
    """Names of the modules whose flag `training` the code read; None if they are not known."""
    facts: Facts
    """Attributes, globals, hooks and other objects that the code depends on."""
    result: Any = None
    """The result of the captured call, computed by PyTorch."""
    frozen: list[torch.Tensor] = field(default_factory=list)
    """Tensors from whose values constants in `state` were computed. The graph is out of date when one of them changes."""

    @property
    def example(self) -> list[torch.Tensor]:
        """Returns the arguments of the graph in the captured call."""
        return [*(self.inputs[number] for number in self.used), *self.state]

    def split(self, example: Sequence[torch.Tensor]) -> tuple[Sequence[torch.Tensor], Sequence[torch.Tensor]]:
        """Splits arguments of the graph into inputs and state."""
        return example[: len(self.used)], example[len(self.used) :]

    @contextlib.contextmanager
    def undisturbed(self) -> Iterator[list[torch.Tensor]]:
        """Yields arguments for a run of the graph. The run changes neither the user's tensors nor later random numbers."""
        example = self.example
        with fork_random(example):
            given = [value.clone() if place in self.mutated else value for place, value in enumerate(example)]
            self.rewind(given)
            yield given

    def rewind(self, example: Sequence[torch.Tensor]) -> None:
        """Resets counters among these arguments of the graph to their values before the captured call."""
        for place, value in self.counters.items():
            example[place].copy_(value)

    def repeatable(self, run: Callable[..., Any], example: Sequence[torch.Tensor]) -> Callable[[], Any]:
        """Returns a call of the graph, or of its replacement, that can be repeated: each call begins with the same counters."""
        if not self.counters:
            return lambda: run(*example)

        def call() -> Any:
            self.rewind(example)
            return run(*example)

        return call


def capture(model: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Captured:
    """Calls a model and captures the call. Raises `NotCapturedError`, and any exception of the model."""
    inputs: list[torch.Tensor] = []
    arguments = Arguments()
    call = _call_layout(args, kwargs, inputs, arguments)
    if reason := reason_outside(inputs):
        raise NotCapturedError(reason)
    triton_ready.begin()
    # Noted before the call, which may change them.
    attributes = [(tensor, unguarded(tensor)) for tensor in inputs]
    recorder = _Recorder(model, args, kwargs, arguments, attributes)
    function = _entry(model)
    try:
        result = call_captured(function, recorder, args, kwargs)
    except Exception as error:
        if recorder.has_run:
            raise
        reason = recorder.refusal or f"Dynamo cannot capture the call as one graph: {message_and_line(error)}"
        raise NotCapturedError(reason, may_pass=recorder.refusal is None) from error
    finally:
        torch._dynamo.reset_code(function.__code__)
    try:
        return _assemble(model, recorder, call, inputs, (args, kwargs), result)
    except (NotCapturedError, LayoutError) as error:
        growing = getattr(error, "growing", None)
        raise NotCapturedError(str(error), (result,), may_pass=recorder.effect is not None, growing=growing) from error
    finally:
        recorder.forget()


def _call_layout(
    args: tuple[Any, ...], kwargs: dict[str, Any], inputs: list[torch.Tensor], arguments: Arguments
) -> Layout:
    def leaf(tensor: torch.Tensor) -> Layout:
        # The same tensor may be passed twice, as in self-attention.
        for number, known in enumerate(inputs):
            if tensor is known:
                return Leaf(number)
        inputs.append(tensor)
        return Leaf(len(inputs) - 1)

    try:
        return layout_of((args, kwargs), leaf, arguments)
    except LayoutError as error:
        raise NotCapturedError(f"the arguments cannot be guarded: {error}") from None


def _entry(model: Callable[..., Any]) -> types.FunctionType:
    """Returns a function that calls the model. It has its own code object, because Dynamo keeps compiled code with the code object."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return model(*args, **kwargs)

    code = call.__code__.replace(co_firstlineno=next(_numbers))
    # It also has its own globals, because Dynamo adds compiled functions to them.
    return types.FunctionType(code, {"__name__": __name__, "__builtins__": builtins}, "call", None, call.__closure__)


# Dynamo takes the text of a backend for its name. The text of a tensor on a GPU takes a tenth of a second.
@dataclass(repr=False)
class _Recorder:
    """The backend of a capture: runs the graph unchanged, and keeps its inputs and outputs."""

    model: Callable[..., Any] | None
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    arguments: Arguments
    attributes: Sequence[tuple[torch.Tensor, dict[str, str]]]
    module: torch.fx.GraphModule | None = None
    graphs: int = 0
    has_run: bool = False
    refusal: str | None = None
    """Reason why the graph was not run."""
    effect: str | None = None
    modes: list[str] | None = None
    facts: Facts = field(default_factory=Facts)
    given: Sequence[Any] = ()
    returned: Sequence[Any] = ()
    mutated: frozenset[int] = field(default_factory=frozenset)
    before: dict[int, torch.Tensor] = field(default_factory=dict)
    """Values of small arguments before the call, by position."""

    def __call__(self, module: torch.fx.GraphModule, _inputs: Sequence[Any]) -> Callable[..., Any]:
        self.graphs += 1
        if (refusal := refusal_of(module.graph)) is not None:
            self.refusal = refusal
            raise NotCapturedError(refusal)
        # Dynamo's subclass of `GraphModule` compiles its code only at its first call. Rewriting reads that code.
        module = self.module = torch.fx.GraphModule(module, module.graph)
        self.effect, written = _python_effect(self.arguments)
        self.modes = _modes_read()
        try:
            self.facts = facts_read(self.model, self.args, self.kwargs)
        except NotCapturedError as error:
            self.refusal = str(error)
            raise
        self.facts.entries += written
        names = unguarded_names()
        self.facts.unguarded = [(tensor, name, values[name]) for tensor, values in self.attributes for name in names]
        forget_guards()

        def run(*values: Any) -> Any:
            self.has_run = True
            self.given = values
            self.before = {place: value.clone() for place, value in enumerate(values) if _is_small(value)}
            versions = [_version(value) for value in values]
            uncounted = {*_statistics(module.graph, values), *_uncounted(module.graph, values)}
            contents = {place: values[place].clone() for place in uncounted}
            self.returned = run_noting_strides(module, values)
            if None in versions:
                effects = effects_of(module.forward, values)
                mutated = set(range(len(values))) if effects is None else set(effects.mutated)
            else:
                mutated = {place for place, version in enumerate(versions) if version != _version(values[place])}
            mutated |= {place for place, before in contents.items() if not torch.equal(before, values[place])}
            self.mutated = frozenset(mutated)
            return self.returned

        return run

    def forget(self) -> None:
        """Releases the tensors and the graph, because Dynamo keeps its backends as long as the process lives."""
        self.module = self.model = None
        self.args, self.kwargs, self.arguments, self.attributes = (), {}, Arguments(), ()
        self.given, self.returned, self.facts = (), (), Facts()
        self.before = {}


def _is_small(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and not isinstance(value, torch.nn.Parameter) and value.numel() <= _COUNTER


def _statistics(graph: torch.fx.Graph, values: Sequence[Any]) -> list[int]:
    """Returns the positions of running statistics that a normalisation may write to. PyTorch does not count these writes."""
    places = [node for node in graph.nodes if node.op == "placeholder"]
    norms = [node for node in graph.nodes if "norm" in str(getattr(node.target, "__name__", node.target))]
    # The statistics may be views of an argument.
    given = {root_of(value) for node in norms for value in node.all_input_nodes}
    return [
        number
        for number, (node, value) in enumerate(zip(places, values, strict=True))
        if isinstance(value, torch.Tensor) and not isinstance(value, torch.nn.Parameter) and node in given
    ]


def _uncounted(graph: torch.fx.Graph, values: Sequence[Any]) -> list[int]:
    """Returns the positions of arguments with uncounted writes: writes through `.data`, or with the version counter set back."""
    found: set[torch.fx.Node] = set()
    for node in reversed(graph.nodes):
        if node in found or getattr(node.target, "__name__", str(node.target)).startswith(_UNCOUNTED):
            # Views of an argument share its memory.
            found.update((node, *node.all_input_nodes))
    places = [node for node in graph.nodes if node.op == "placeholder"]
    return [
        number
        for number, (node, value) in enumerate(zip(places, values, strict=True))
        if node in found and isinstance(value, torch.Tensor)
    ]


def _version(value: Any) -> int | None:
    """Returns the number of writes to a value; None if it is no tensor or does not count them."""
    return None if not isinstance(value, torch.Tensor) or value.is_inference() else value._version


def _python_effect(arguments: Arguments) -> tuple[str | None, list[tuple[dict[str, Any], str, Any]]]:
    """Returns a change of Python objects by the captured code that an entry cannot repeat (None if there is none), and facts.

    An entry can assign attributes of plain objects among the arguments, and refill lists and dictionaries. An attribute that has its
    old value again at the end, such as a flag that is set during a call, is no change but a fact: the entry is for calls with this value.
    """
    effects = InstructionTranslator.current_tx().output.side_effects
    if effects.tensor_hooks or effects.save_for_backward:
        return "it registers hooks on tensors", []
    facts: list[tuple[dict[str, Any], str, Any]] = []
    for identity, variable in effects.id_to_variable.items():
        is_new = type(variable.mutation_type).__name__.endswith("New")
        if not is_new and effects.is_modified(variable):
            is_assigned = not getattr(variable.mutation_type, "is_modified", False)
            if is_assigned and arguments.given(getattr(variable, "value", None)) is not None:
                continue
            if identity in arguments.containers:
                continue
            restored = _restored(variable, effects.store_attr_mutations.get(variable))
            if restored is None:
                return f"it changes a Python object that exists outside ({variable.python_type_name()})", []
            facts += restored
    return None, facts


def _restored(variable: Any, written: dict[str, Any] | None) -> list[tuple[dict[str, Any], str, Any]] | None:
    """Returns the attributes of an object that the code wrote if each is set back to the constant that it has now, else None."""
    attributes = getattr(getattr(variable, "value", None), "__dict__", None)
    if not isinstance(attributes, dict) or not written or getattr(variable.mutation_type, "is_modified", False):
        return None
    for name, value in written.items():
        if name not in attributes or not value.is_python_constant():
            return None
        # Compared by identity, because 1, 1.0 and True are equal. Equal small constants are the same object.
        if value.as_python_constant() is not attributes[name]:
            return None
    return [(attributes, name, attributes[name]) for name in written]


def _modes_read() -> list[str] | None:
    """Returns the names of the modules whose flag `training` the captured code read, from Dynamo's guards; None if they are not known."""
    names: list[str] = []
    for guard in TracingContext.get().guards_context.dynamo_guards:
        # `name` is a method until PyTorch 2.14.
        name = guard.name if isinstance(guard.name, str) else guard.name()
        if name.endswith(".training"):
            if _MODE.fullmatch(name) is None:
                return None
            names.append(".".join(_SUBMODULE.findall(name)))
    return sorted(set(names))


def _assemble(
    model: Callable[..., Any],
    recorder: _Recorder,
    call: Layout,
    inputs: list[torch.Tensor],
    arguments: tuple[Any, ...],
    result: Any,
) -> Captured:
    module = recorder.module
    if module is None:
        raise NotCapturedError("the call computes nothing with tensors")
    if recorder.graphs != 1 or not recorder.has_run:
        raise NotCapturedError(f"Dynamo captured {recorder.graphs} graphs, and one is supported")
    if recorder.effect is not None:
        raise NotCapturedError(f"the code has an effect in addition to its result: {recorder.effect}")
    numbers = {id(tensor): number for number, tensor in enumerate(inputs)}
    owned = owned_tensors(model) | {id(value): value for value in recorder.facts.tensors()}
    used: list[int] = []
    state: list[torch.Tensor] = []
    for value in recorder.given:
        if not isinstance(value, torch.Tensor):
            raise NotCapturedError(f"the graph takes a `{type(value).__name__}` that changes from call to call")
        if id(value) in numbers and id(value) in owned:
            raise NotCapturedError("an argument is a tensor of the model")
        if id(value) in numbers:
            used.append(numbers[id(value)])
        elif id(value) in owned:
            state.append(value)
        else:
            raise NotCapturedError("the code reads a tensor that is neither an argument nor part of the model")
    order = _inputs_first(module, [id(value) in numbers for value in recorder.given])
    output, written = output_layouts(recorder.returned, recorder.arguments, inputs, state, arguments, result)
    return Captured(
        module,
        call,
        inputs,
        used,
        state,
        list(state),
        output,
        len(recorder.returned),
        frozenset(order.index(place) for place in recorder.mutated),
        {order.index(place): recorder.before[place] for place in recorder.mutated if place in recorder.before},
        written,
        recorder.modes,
        recorder.facts,
        result,
    )


def _inputs_first(module: torch.fx.GraphModule, is_input: Sequence[bool]) -> list[int]:
    """Moves the placeholders of inputs before those of state. Returns the old positions in the new order."""
    places = [node for node in module.graph.nodes if node.op == "placeholder"]
    order = sorted(range(len(places)), key=lambda place: not is_input[place])
    if order == list(range(len(places))):
        return order
    for place in order:
        first_call = next(node for node in module.graph.nodes if node.op != "placeholder")
        if places[place].next is not first_call:
            first_call.prepend(places[place])
    module.recompile()
    return order
