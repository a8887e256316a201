"""Kernels with a range, which the launcher splits over the threads of PyTorch."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator

import pytest
import torch

from passnet import kernels

# Each call of the function notes the length of its part at the part's first step.
SOURCE = """
extern "C" void steps(const float* x, float* out, int64_t* parts, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out[i] = x[i] * 2.0f;
    parts[begin] = end - begin;
}
"""
SIGNATURE = "void steps(const float* x, float* out, int64_t* parts, parallel int64_t begin, int64_t end)"


@pytest.fixture
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def run(steps: kernels.cpp, count: int, begin: int = 0) -> list[int]:
    """The lengths of the parts in order, after a check of the result."""
    x = torch.randn(count)
    out, parts = torch.zeros(count), torch.zeros(count + 1, dtype=torch.int64)
    steps(x, out, parts, begin, count)
    expected = torch.where(torch.arange(count) >= begin, x * 2.0, 0.0)
    assert torch.equal(out, expected)
    return parts[parts != 0].tolist()


def test_a_range_is_split_over_as_many_threads_as_pytorch_may_use(threads: None) -> None:
    steps = kernels.cpp(SOURCE, SIGNATURE)
    for count, wanted in ((1, [100]), (2, [50, 50]), (3, [33, 33, 34]), (16, [6, 6, 6, 7] * 4)):
        torch.set_num_threads(count)
        assert run(steps, 100) == wanted
    torch.set_num_threads(2)
    assert run(steps, 100, begin=40) == [30, 30]
    # One step is not split, and an empty range is passed on.
    assert run(steps, 1) == [1]
    assert run(steps, 5, begin=5) == []


def test_the_number_of_threads_holds_in_other_threads_of_python(threads: None) -> None:
    torch.set_num_threads(1)
    steps, found = kernels.cpp(SOURCE, SIGNATURE), []
    thread = threading.Thread(target=lambda: found.append(run(steps, 100)))
    thread.start()
    thread.join()
    assert found == [[100]]


@pytest.mark.skipif(sys.platform != "linux", reason="threads are listed in /proc")
def test_a_range_of_few_steps_does_not_end_threads(threads: None) -> None:
    # GNU's OpenMP ends the threads that a smaller team leaves out. The product would start them again.
    torch.set_num_threads(4)
    steps, x = kernels.cpp(SOURCE, SIGNATURE), torch.randn(256, 256)

    def after_a_product() -> set[str]:
        torch.mm(x, x)
        return set(os.listdir("/proc/self/task"))

    assert run(steps, 2) == [1, 1]
    before = after_a_product()
    for _ in range(10):
        assert run(steps, 2) == [1, 1]
        assert after_a_product() == before


def test_a_prepared_function_splits_each_of_its_calls(threads: None) -> None:
    steps = kernels.cpp(SOURCE, SIGNATURE)

    @kernels.prepared
    def fused(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        out, parts = torch.empty_like(x), torch.empty(x.shape, dtype=torch.int64)
        steps(x, out, parts, 0, x.shape[0])
        return out, parts

    x = torch.randn(64)
    for count in (2, 1, 2):
        torch.set_num_threads(count)
        out, parts = fused(x)
        assert torch.equal(out, x * 2.0)
        assert parts[0] == 64 // count


@pytest.mark.parametrize(
    "parameters",
    [
        "float* x, parallel int64_t begin",
        "float* x, parallel int begin, int end",
        "float* x, parallel int64_t begin, float end",
        "parallel int64_t a, int64_t b, parallel int64_t c, int64_t d",
        "parallel int64_t begin, int64_t* end",
    ],
)
def test_a_range_is_two_integers_of_64_bits(parameters: str) -> None:
    with pytest.raises(ValueError, match="a range is `parallel int64_t BEGIN, int64_t END`"):
        kernels.cpp(SOURCE, f"void steps({parameters})")
