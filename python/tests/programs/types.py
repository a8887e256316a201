"""Types of elements, subclasses, devices without data, and tensors without or with one element."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from programs import Compile, outcome


def types_of_elements(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda x: torch.relu(x) * 2 + x / 3)
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.uint8, torch.float32):
        yield call(torch.arange(4).to(dtype))


def mixed_types(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda x, y: (x * y + 1, torch.where(x > y, x, y), x == y))
    for first, second in (
        (torch.float32, torch.float64),
        (torch.int8, torch.float16),
        (torch.bool, torch.int64),
        (torch.bfloat16, torch.float16),
    ):
        yield call(torch.arange(4).to(first), torch.tensor(2).to(second))
        yield call(torch.arange(4).to(first), torch.tensor([2, 0, 1, 3]).to(second))


def numbers_instead_of_tensors(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda x, y: x * y + torch.relu(x))
    for number in (2, 2.5, True, torch.tensor(3), torch.tensor(3.0), 2**40, float("inf")):
        yield call(torch.linspace(-1, 1, 3), number)


def complex_numbers(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda z: torch.exp(z) * z.conj() + z.angle())
    for dtype in (torch.complex64, torch.complex128, torch.float32):
        yield call(torch.linspace(-1, 1, 4).to(dtype))
    yield torch.fft.ifft(compiled(lambda x: torch.fft.fft(x) * 2)(torch.arange(4.0)))


def bits(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda x, y: ((x & y) | 1, x ^ y, ~x, x << 1, x // 3, x % 3))
    for dtype in (torch.int64, torch.uint8, torch.int16):
        yield call(torch.arange(6).to(dtype), torch.tensor([3, 5, 6, 1, 0, 2]).to(dtype))


def no_elements(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda x: (torch.relu(x) * 2, x.sum(-1), x.reshape(-1).tanh()))
    for shape in ((0,), (0, 3), (3, 0), (2, 3), (2, 0, 3)):
        yield call(torch.ones(shape))
    yield outcome(lambda: compiled(lambda x: x.max())(torch.ones(0)))


def one_element(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda x, y: torch.tanh(x) * y + x.sum())
    for x in (torch.tensor(0.5), torch.tensor([0.5]), torch.ones(1, 1), torch.tensor(0.5)):
        yield call(x, torch.tensor(2.0))
        yield call(x, torch.arange(3.0))
        yield call(torch.arange(3.0), x)


def no_data(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda x: torch.relu(x) * 2)
    yield call(torch.ones(2, 3))
    result = call(torch.empty(2, 3, device="meta"))
    yield result.device.type, result.shape, result.stride()
    yield call(torch.ones(2, 3))


def subclass_with_a_name(compiled: Compile) -> Iterator[Any]:
    class Named(torch.Tensor):
        @staticmethod
        def make(x: torch.Tensor, name: str) -> Named:
            made = x.as_subclass(Named)
            made.label = name
            return made

        @classmethod
        def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = super().__torch_function__(function, types, args, kwargs or {})
            if isinstance(result, Named):
                result.label = "+".join(arg.label for arg in args if hasattr(arg, "label"))
            return result

    call = compiled(lambda x, y: torch.relu(x) + y)
    yield call(torch.ones(2), torch.ones(2))
    result = call(Named.make(torch.ones(2), "a"), Named.make(torch.arange(2.0), "b"))
    yield type(result).__name__, result.label, result.as_subclass(torch.Tensor)
    yield call(torch.ones(2), torch.ones(2))


def parameters_as_arguments(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda x: torch.relu(x) * 2)
    for x in (torch.ones(2), torch.nn.Parameter(torch.ones(2)), torch.nn.Buffer(torch.ones(2)), torch.ones(2)):
        result = call(x)
        yield result, type(result).__name__, result.requires_grad


def arrays(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, Any]:
        array = x.numpy() * 2
        array[0] = 7
        return torch.from_numpy(array).relu(), array.sum()

    call = compiled(function)
    for scale in (1, -1, 1):
        result, total = call(torch.linspace(-1, 1, 4) * scale)
        yield result, float(total)


def sparse_tensors(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda x, y: torch.relu(x @ y) + 1)
    dense = torch.eye(3) * torch.arange(3.0)
    for x in (dense, dense.to_sparse(), dense):
        yield call(x, torch.ones(3, 2))


def nan_and_infinity(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda x: (torch.relu(x), x.clamp(0, 1), x.softmax(0), torch.nan_to_num(x) * 2, x.isnan()))
    values = torch.tensor([float("nan"), float("inf"), -float("inf"), -0.0, 1e-40])
    yield from (call(values), call(values.double()), call(values.bfloat16()))


def other_types_of_results(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda x: (x.dtype, x.shape, x.device, x.is_contiguous(), x.numel(), x.relu().to(torch.int8)))
    for dtype in (torch.float32, torch.float64, torch.float32):
        yield call(torch.arange(3).to(dtype))
