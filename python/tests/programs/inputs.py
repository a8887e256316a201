"""Kinds of arguments and results as programs of users have them."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import enum
import io
import logging
import math
import typing
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from programs import Compile, outcome

_X = torch.linspace(-1, 1, 12).reshape(4, 3)


class Kind(enum.Enum):
    """A choice."""

    RELU = "relu"
    TANH = "tanh"


class Level(enum.IntEnum):
    """A number with a name."""

    LOW = 1
    HIGH = 5


@dataclasses.dataclass(frozen=True)
class Settings:
    """Options that a program passes around."""

    kind: Kind = Kind.RELU
    scale: float = 2.0
    sizes: tuple[int, ...] = (1, 2)


@dataclasses.dataclass
class Result:
    """A result with a field that is computed."""

    values: torch.Tensor
    loss: torch.Tensor | None = None
    name: str = "none"
    total: torch.Tensor = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        self.total = self.values.sum()


def choices(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor, kind: Kind, level: Level = Level.LOW) -> Any:
        return getattr(torch, kind.value)(x) * level, kind, level

    call = compiled(function)
    for kind in (Kind.RELU, Kind.TANH, Kind.RELU):
        yield call(_X, kind)
        yield call(_X, kind, level=Level.HIGH)


def frozen_settings(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor, settings: Settings) -> Result:
        x = getattr(torch, settings.kind.value)(x) * settings.scale + sum(settings.sizes)
        return Result(x, x.mean() if settings.scale > 2 else None, settings.kind.name)

    call = compiled(function)
    for settings in (Settings(), Settings(scale=3.0), Settings(Kind.TANH, sizes=(3,)), Settings()):
        yield call(_X, settings)


def variable_arguments(compiled: Compile) -> Iterator[Any]:
    def function(*parts: torch.Tensor, weights: typing.Sequence[float] | None = None, **more: Any) -> Any:
        weights = weights or [1.0] * len(parts)
        total = sum(part * weight for part, weight in zip(parts, weights, strict=False))
        return {"total": total, **{name: torch.relu(value) for name, value in more.items() if value is not None}}

    call = compiled(function)
    yield call(_X)
    yield call(_X, _X * 2)
    yield call(_X, _X, weights=[0.5, 2.0])
    yield call(_X, extra=_X, absent=None)
    yield call(_X, absent=_X, extra=None)
    yield call(_X, _X, _X)


def dictionaries_of_other_classes(compiled: Compile) -> Iterator[Any]:
    Point = collections.namedtuple("Point", "x y")

    def function(batch: Any) -> Any:
        counts = collections.defaultdict(list)
        counts["a"].append(torch.relu(batch["x"]))
        return collections.OrderedDict(b=batch["x"] * 2, a=Point(counts["a"][0], batch["y"])), dict(counts)

    call = compiled(function)
    for batch in ({"x": _X, "y": 1}, collections.OrderedDict(y=2, x=_X), collections.UserDict(x=_X, y=_X)):
        yield call(batch)
        yield call(batch)


def masks(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor, mask: torch.Tensor | None = None, fill: float = -math.inf) -> Any:
        scores = x @ x.t()
        if mask is not None:
            scores = scores.masked_fill(~mask, fill)
        weights = torch.softmax(scores, -1)
        return weights, torch.nan_to_num(weights) @ x, scores.logsumexp(-1)

    call = compiled(function)
    mask = torch.ones(4, 4).tril().bool()
    empty = mask.clone()
    empty[1] = False
    for value in (None, mask, empty, None, mask):
        x = _X.clone().requires_grad_()
        result = call(x, value)
        result[1].sum().backward()
        yield result, x.grad
    yield call(_X, mask, fill=torch.finfo(torch.float32).min)


def packed_sequences(compiled: Compile) -> Iterator[Any]:
    torch.manual_seed(1)
    model = nn.LSTM(3, 4, batch_first=True)

    def function(x: torch.Tensor, lengths: torch.Tensor) -> Any:
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        result, (state, _) = model(packed)
        return nn.utils.rnn.pad_packed_sequence(result, batch_first=True), torch.tanh(state) * 2

    call = compiled(function)
    x = torch.linspace(-1, 1, 30).reshape(2, 5, 3)
    for lengths in ([5, 2], [3, 5], [1, 1]):
        yield call(x, torch.tensor(lengths))


def nested_and_sparse(compiled: Compile) -> Iterator[Any]:
    weight = torch.relu(_X[:3]).to_sparse_csr()
    call = compiled(lambda x: torch.relu(weight @ x) * 2)
    for _ in range(2):
        yield call(_X[:3])
    parts = [torch.ones(2, 3), torch.ones(1, 3) * 2]
    for layout in (torch.strided, torch.jagged):
        nested = torch.nested.nested_tensor(parts, layout=layout)
        inner = compiled(lambda x: torch.relu(x) * 2)
        yield [part.clone() for part in inner(nested).unbind()]
        yield [part.clone() for part in inner(nested).unbind()]


def resized_and_set(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.set_(y.untyped_storage(), 1, (2, 2), (2, 1))
        y.resize_(3)
        return torch.relu(x) + 1

    call = compiled(function)
    for _ in range(2):
        x, y = torch.zeros(3), torch.arange(6.0)
        yield outcome(lambda x=x, y=y: call(x, y))
        yield x, y


def data_replaced(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.data = y * 2
        return torch.tanh(x) + y

    call = compiled(function)
    for _ in range(3):
        x, y = torch.zeros(4, 3), _X.clone()
        yield call(x, y)
        yield x, y


def gradients_asked_within(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor) -> torch.Tensor:
        x = x * 1
        x.requires_grad_()
        return torch.tanh(x) * 2

    call = compiled(function)
    for _ in range(3):
        result = call(_X)
        yield result, result.requires_grad
        yield outcome(lambda result=result: result.sum().backward())
    leaf = compiled(lambda x: torch.tanh(x.requires_grad_()) * 2)
    for _ in range(3):
        x = _X.clone()
        leaf(x).sum().backward()
        yield x.grad, x.requires_grad


def detached_in_place(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = torch.exp(x)
        z = y * 2
        y.detach_()
        return z + y

    call = compiled(function)
    for _ in range(2):
        x = _X.clone().requires_grad_()
        call(x).sum().backward()
        yield x.grad


def printed_and_logged(compiled: Compile) -> Iterator[Any]:
    lines: list[str] = []
    logger = logging.getLogger("programs.inputs")
    logger.setLevel(logging.INFO)
    logger.propagate = False
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    logger.handlers = [handler]

    def function(x: torch.Tensor) -> torch.Tensor:
        print("rows", x.shape[0])
        logger.info("columns %d", x.shape[1])
        return torch.relu(x) * 2

    call = compiled(function)
    for _ in range(3):
        with contextlib.redirect_stdout(io.StringIO()) as text:
            yield call(_X)
        yield text.getvalue(), list(lines)


def assertions(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor, limit: float) -> torch.Tensor:
        assert x.dim() == 2, f"expected two dimensions, got {x.dim()}"
        assert (x < limit).all(), "too large"
        torch._assert(x.shape[0] == 4, "four rows")
        if x.isnan().any():
            raise ValueError("not a number")
        return torch.relu(x) * 2

    call = compiled(function)
    for x, limit in ((_X, 2.0), (_X, 0.5), (_X[0], 2.0), (_X[:2], 2.0), (_X / 0, math.inf), (_X, 2.0)):
        yield outcome(lambda x=x, limit=limit: call(x, limit))


def messages_of_exceptions(compiled: Compile) -> Iterator[Any]:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.calls, self.linear = 0, nn.Linear(3, 3)
            nn.init.constant_(self.linear.weight, 0.1)
            nn.init.constant_(self.linear.bias, 0.1)

        def forward(self, x: torch.Tensor, fail: str = "") -> torch.Tensor:
            self.calls += 1
            y = torch.relu(self.linear(x))
            if fail == "key":
                return y + {"a": 1}[fail]
            if fail:
                raise RuntimeError(f"failed with {fail}")
            return y

    model = Model()
    call = compiled(model)
    for fail in ("", "text", "key", "", "text"):
        try:
            yield call(_X, fail)
        except Exception as error:
            yield type(error).__name__, str(error)
        yield model.calls
    try:
        call(_X[:, :2])
    except RuntimeError as error:
        yield "shapes cannot be multiplied" in str(error)
    yield model.calls


def library_of_python(compiled: Compile) -> Iterator[Any]:
    import functools
    import heapq
    import itertools
    import operator

    def function(x: torch.Tensor, sizes: list[int]) -> Any:
        order = heapq.nsmallest(2, sizes)
        total = functools.reduce(operator.add, (torch.relu(x) * size for size in sorted(sizes, key=lambda n: -n)))
        pairs = {f"{a}-{b}": x[a] * x[b] for a, b in itertools.pairwise(range(3))}
        return total, pairs, order, list(itertools.chain([1], sizes)), max(sizes, default=0)

    call = compiled(function)
    for sizes in ([3, 1, 2], [5], [3, 1, 2], [1, 1]):
        yield call(_X, sizes)


def many_sizes(compiled: Compile) -> Iterator[Any]:
    layer = nn.Linear(3, 2)
    nn.init.constant_(layer.weight, 0.2)
    nn.init.constant_(layer.bias, 0.1)

    def function(x: torch.Tensor) -> Any:
        length = x.shape[0]
        position = torch.arange(length).float() / max(length, 1)
        return torch.relu(layer(x)) * position[:, None], x.shape, length // 2, x.numel() > 6

    call = compiled(function)
    for length in (4, 3, 0, 1, 2, 4, 0, 1, 3):
        layer.zero_grad()
        result = call(_X[:length])
        result[0].sum().backward()
        yield result, layer.weight.grad


def strides_of_many_kinds(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda x: (torch.relu(x) * 2, x + 1, torch.softmax(x, -1), x.contiguous(), x.flatten()))
    base = torch.linspace(-1, 1, 48).reshape(4, 3, 4)
    for x in (base, base.transpose(0, 2), base[:, 1], base[::2], base[..., ::3], base[:, :1].expand(4, 3, 4), base.flip(0),
              base.as_strided((3, 3), (1, 1)), base[0, 0, 0], base.unfold(2, 2, 1)):  # fmt: skip
        yield call(x)
        yield call(x)


def buffers_of_autograd_functions(compiled: Compile) -> Iterator[Any]:
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> Any:
            ctx.set_materialize_grads(False)
            places = x.argsort()
            ctx.mark_non_differentiable(places)
            ctx.save_for_backward(places)
            return x * 2, places

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor | None, _: Any) -> torch.Tensor | None:
            return None if gradient is None else gradient * 3 + ctx.saved_tensors[0]

    call = compiled(lambda x: Two.apply(torch.tanh(x)))
    for _ in range(2):
        x = _X[0].clone().requires_grad_()
        values, places = call(x)
        values.sum().backward()
        yield values, places, x.grad
