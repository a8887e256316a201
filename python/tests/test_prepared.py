"""Prepared functions: later calls repeat what the first allocated and launched, and nothing else changes."""

from __future__ import annotations

import threading

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from passnet import _native, kernels
from passnet._monitor import census

SOURCE = """
void shift(const float* x, float* out, int64_t n, double by) { for (int64_t i = 0; i < n; ++i) out[i] = x[i] + by; }
void add(const float* x, const float* y, float* out, int64_t n) { for (int64_t i = 0; i < n; ++i) out[i] = x[i] + y[i]; }
"""


@pytest.fixture(scope="module")
def functions():
    return kernels.cpp(
        SOURCE,
        "void shift(const float* strided x, float* strided out, int64_t n, double by)",
        "void add(const float* x, const float* y, float* out, int64_t n)",
    )


@pytest.fixture
def calls() -> list[tuple]:
    """Arguments of the calls in which the Python of a function ran."""
    return []


@pytest.fixture
def shifted(functions, calls):
    shift, _ = functions

    @kernels.prepared
    def shifted(x, by):
        calls.append((x.shape, by))
        out = torch.empty_like(x)
        shift(x, out, x.numel(), by)
        return out

    return shifted


def test_later_calls_run_no_python_of_the_function(shifted, calls):
    results = []
    for _ in range(4):
        x = torch.randn(3, 5)
        results.append(shifted(x, 2.0))
        assert torch.equal(results[-1], x + 2.0)
    assert len(calls) == 1
    assert len({result.data_ptr() for result in results}) == 4
    assert shifted.__name__ == "shifted" and shifted.__wrapped__ is not shifted


def test_each_signature_has_its_own_plan(shifted, calls):
    wide = torch.randn(4, 6)
    signatures = [
        (wide, 1.0),
        (wide, -0.0),
        (wide, 0.0),
        (wide, 1),
        (wide, True),
        (wide.t(), 1.0),
        (wide[:2], 1.0),
        (torch.nn.Parameter(wide.clone()), 1.0),
    ]
    for _ in range(3):
        for x, by in signatures:
            assert torch.equal(shifted(x, by), x + by)
    assert len(calls) == len(signatures)


def test_results_in_place_and_several_and_what_is_only_used_between(functions, calls):
    shift, add = functions

    @kernels.prepared
    def several(x, y):
        calls.append(())
        between, out = torch.empty(x.shape), torch.empty_strided(x.shape, (1, 3))
        add(x, y, between, x.numel())
        shift(between, out, x.numel(), 1.0)
        shift(x, x, x.numel(), 10.0)
        return x, [out, y] and out

    for _ in range(3):
        x, y = torch.randn(3, 5), torch.randn(3, 5)
        given, flat = x.clone(), (x + y + 1.0).flatten()
        first, second = several(x, y)
        assert first is x and torch.equal(x, given + 10)
        assert second.stride() == (1, 3) and torch.equal(second.as_strided((15,), (1,)), flat)
    assert len(calls) == 1


@pytest.mark.parametrize("kind", [tuple, list])
def test_a_sequence_stays_one(kind, functions):
    shift, _ = functions

    @kernels.prepared
    def both(x):
        out = torch.empty_like(x)
        shift(x, out, x.numel(), 1.0)
        return kind([out, x])

    x = torch.randn(4)
    for _ in range(2):
        result = both(x)
        assert type(result) is kind and torch.equal(result[0], x + 1) and result[1] is x


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: x.exp(),
        lambda x: torch.full_like(x, float(x.sum())),
        lambda x: torch.empty_like(x).copy_(x),
        lambda x: x[0],
        lambda x: x.data_ptr(),
        lambda x: torch.empty(x.shape, requires_grad=True),
        lambda x: (x, (x,)),
        lambda x: None,
    ],
)
def test_what_does_something_else_runs_each_time(compute, calls):
    @kernels.prepared
    def function(x):
        calls.append(())
        return compute(x)

    for number in range(1, 4):
        x = torch.randn(3)
        result, expected = function(x), compute(x)
        assert str(result) == str(expected) or not result.isfinite().all() or result.requires_grad
        assert len(calls) == number


def test_a_tensor_given_twice_does_not_stand_for_two(functions, calls):
    _, add = functions

    @kernels.prepared
    def added(x, y):
        calls.append(())
        out = torch.empty_like(x)
        add(x, x if x is y else y, out, x.numel())
        return out

    x, y = torch.randn(8), torch.randn(8)
    for _ in range(2):
        assert torch.equal(added(x, x), x + x)
        assert torch.equal(added(x, y), x + y)
        assert torch.equal(added(y, x), x + y)


def test_modes_see_each_call(shifted, calls):
    seen = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    x = torch.randn(3)
    shifted(x, 1.0)
    for number in (1, 2):
        with Mode():
            shifted(x, 1.0)
        assert len(seen) == number
    assert torch.equal(shifted(x, 1.0), x + 1)
    assert len(calls) == 3


def test_inference_gives_inference_tensors(shifted):
    x = torch.randn(3)
    for _ in range(2):
        assert not shifted(x, 1.0).is_inference()
        with torch.inference_mode():
            assert shifted(x, 1.0).is_inference()


def test_errors_are_raised_each_time(functions, calls):
    shift, _ = functions

    @kernels.prepared
    def strict(x):
        calls.append(())
        if x.dim() != 1:
            raise ValueError("one dimension")
        out = torch.empty_like(x)
        shift(x, out)
        return out

    for _ in range(2):
        with pytest.raises(ValueError, match="one dimension"):
            strict(torch.randn(2, 2))
        with pytest.raises(TypeError, match="shift takes 4 arguments, got 2"):
            strict(torch.randn(2))
    assert len(calls) == 4


def test_the_census_has_repeated_launches(shifted):
    x = torch.randn(3)
    shifted(x, 1.0)
    before = _native.launches()
    shifted(x, 1.0)
    assert _native.launches() == before + 1
    with census.idle():
        out = shifted(x, 7.0 - 6.0)
    assert not torch.equal(out, x + 1)


def test_without_tensors_and_from_several_threads(functions, calls):
    shift, _ = functions
    ones = torch.ones(5)

    @kernels.prepared
    def made():
        calls.append(())
        return torch.empty(5)

    @kernels.prepared
    def hidden():
        out = torch.empty(5)
        shift(ones, out, 5, 1.0)  # A tensor from elsewhere is in no signature.
        return out

    def work():
        results.extend([made().shape, *(hidden().tolist() for _ in range(3))])

    results: list = []
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 16 and all(result in (torch.Size([5]), [2.0] * 5) for result in results)
    made(), made()
    assert len(calls) <= 5


def test_a_plan_is_not_used_for_a_lazily_negated_tensor(functions, calls):
    shift, _ = functions

    @kernels.prepared
    def shifted(x):
        calls.append(x)
        kernels.require(x, dtype=torch.float32)
        out = torch.empty_like(x)
        shift(x, out, x.numel(), 1.0)
        return out

    plain, negated = torch.full((3,), 2.0), torch._neg_view(torch.ones(3))
    for _ in range(3):
        assert torch.equal(shifted(plain), plain + 1)
        with pytest.raises(ValueError, match="lazily conjugated or negated"):
            shifted(negated)
    assert len(calls) <= 6


def test_types_are_part_of_the_signature(functions, calls):
    shift, _ = functions

    @kernels.prepared
    def shifted(x, dtype):
        calls.append(dtype)
        kernels.require(x, dtype=dtype)
        out = torch.empty_like(x)
        shift(x, out, x.numel(), 1.0)
        return out

    x = torch.randn(3)
    for _ in range(3):
        assert torch.equal(shifted(x, torch.float32), x + 1)
        with pytest.raises(ValueError, match=r"the tensor is of torch\.float32, not of torch\.float16"):
            shifted(x, torch.float16)
    assert calls == [torch.float32, *[torch.float16] * 3]


def test_symbolic_tracing_records_one_call(functions, calls):
    shift, _ = functions

    @kernels.prepared
    def shifted(x, by):
        calls.append(by)
        kernels.require(x, dtype=torch.float32)
        out = torch.empty_like(x)
        shift(x, out, x.numel(), by)
        return out

    def twice(x):
        return shifted(shifted(x, 1.0), by=2.0)

    x = torch.randn(3)
    for _ in range(2):  # Before it has a plan, and with one.
        traced = torch.fx.symbolic_trace(twice)
        targets = [node.target for node in traced.graph.nodes if node.op == "call_function"]
        assert targets == [shifted, shifted]
        assert torch.equal(traced(x), x + 1 + 2)
    assert calls == [1.0, 2.0, 2.0], "the plan of a call is kept, those with names have none"


def test_views_read_their_own_elements(shifted):
    whole = torch.arange(40.0)
    for start in (0, 3, 17, 33):
        x = whole[start : start + 5]
        assert torch.equal(shifted(x, 1.0), x + 1.0)
    x = whole.to(torch.float32).view(8, 5)[3]
    assert torch.equal(shifted(x, 1.0), x + 1.0)


def test_writing_to_a_lazy_copy_leaves_the_original(functions):
    shift, _ = functions

    @kernels.prepared
    def shifted_in_place(x):
        shift(x, x, x.numel(), 1.0)
        return x

    for _ in range(3):
        original = torch.arange(6.0)
        copy = torch._lazy_clone(original)
        assert torch.equal(shifted_in_place(copy), torch.arange(6.0) + 1.0)
        assert torch.equal(original, torch.arange(6.0))


def test_views_are_prepared_and_share_memory(calls):
    @kernels.prepared
    def parts(x):
        calls.append(x.shape)
        rest = x.as_strided((2, 3), (6, 2), x.storage_offset() + 1)
        return x.as_strided((6, 2), (1, 6)), rest

    whole = torch.arange(40.0)
    for start in (0, 0, 5, 5, 0, 11):
        x = whole[start : start + 12]
        turned, rest = parts(x)
        assert torch.equal(turned, x.view(2, 6).t()) and turned.stride() == (1, 6)
        assert torch.equal(rest, x.view(2, 6)[:, 1::2])
        assert turned.data_ptr() == x.data_ptr() and rest.data_ptr() == x.data_ptr() + 4
    # The function reads the offset, so there is a plan for each.
    assert len(calls) == 3


def test_views_of_what_is_allocated(functions):
    shift, _ = functions

    @kernels.prepared
    def turned(x):
        out = torch.empty_like(x)
        shift(x, out, x.numel(), 1.0)
        return out.as_strided((3, 2), (1, 3))

    for _ in range(3):
        x = torch.randn(2, 3)
        assert torch.equal(turned(x), x.t() + 1.0)


def test_results_that_view_arguments_count_writes_together():
    @kernels.prepared
    def parts(x):
        turned = x.as_strided((3, 2), (1, 3))
        return turned.as_strided((2,), (3,)), x.as_strided((3,), (1,), x.storage_offset() + 3)

    for _ in range(3):
        x = torch.zeros(2, 3)
        for number, part in enumerate(parts(x), start=1):
            part.add_(number)
            assert part._is_view() and x._version == number
        assert torch.equal(x, torch.tensor([[1.0, 0.0, 0.0], [3.0, 2.0, 2.0]]))
        # As in eager mode, a view of an ordinary tensor is none that only inference may use.
        with torch.inference_mode():
            assert not any(part.is_inference() for part in parts(x))


def test_views_with_gradients_stay_views_of_pytorch():
    @kernels.prepared
    def turned(x):
        return x.as_strided((3, 2), (1, 3))

    for _ in range(3):
        x = torch.randn(2, 3, requires_grad=True)
        turned(x)[1].sum().backward()
        assert torch.equal(x.grad, torch.tensor([[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]))
    plain = torch.randn(2, 3)
    for _ in range(3):
        assert torch.equal(turned(plain), plain.t())
