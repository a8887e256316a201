"""Comparison of inputs with what timed calls saw, on the device. On a CUDA device where there is one."""

from __future__ import annotations

import pytest
import torch

from passnet._passes.trace import trace_pattern as trace
from passnet._worker import device_pool
from passnet._worker.device_pool import DevicePool, fingerprint, same_bits, summed
from server import Worker

DEVICES = ["cpu", *(["cuda:0"] if torch.cuda.is_available() else [])]
COUNT, WINDOWS = 1000, 64


@pytest.fixture(autouse=True)
def short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_pool, "_PART", 300)
    monkeypatch.setattr(device_pool, "_WORDS", 400)


def values_of(dtype: torch.dtype, count: int) -> torch.Tensor:
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(count, dtype=dtype)
    return torch.randint(2 if dtype is torch.bool else 100, (count,)).to(dtype)


def flip(values: torch.Tensor, element: int) -> None:
    bits = {1: torch.uint8, 2: torch.int16, 4: torch.int32}.get(values.dtype.itemsize, torch.int64)
    words = values.view(bits)
    words[element * (values.numel() and words.numel() // values.numel())] ^= 1


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex128]
)
@pytest.mark.parametrize("bounds", [None, (None, None), (-0.5, 0.75)])
def test_a_changed_bit_is_seen_also_if_the_pool_is_changed_alike(device: str, dtype: torch.dtype, bounds: tuple | None):
    if bounds is not None and not dtype.is_floating_point:
        pytest.skip("nothing is added to such values")
    host, addends = values_of(dtype, COUNT + WINDOWS - 1), None if bounds is None else values_of(dtype, 37)
    pool = DevicePool(host, addends, bounds or (None, None), COUNT, torch.device(device))
    flat = host.to(device)[5 : 5 + COUNT].clone()
    if sums := pool.sums([flat]):
        sums(5, 36, 0)
    assert pool.is_in(flat, 5, 36) and not pool.is_in(flat, 6, 36)
    for element in (0, 299, 300, COUNT - 1):
        flip(flat, element)
        assert not pool.is_in(flat, 5, 36)
        # The values of the pool come back from the host before they are compared.
        if device == "cuda:0" or pool.values.data_ptr() != host.data_ptr():
            flip(pool.values, 5 + element)
            assert not pool.is_in(flat, 5, 36)
        flip(flat, element)
        assert pool.is_in(flat, 5, 36)


def test_bits_are_compared_not_numbers():
    nan = torch.tensor([float("nan"), 0.0])
    assert same_bits(nan, nan.clone())
    assert not same_bits(nan, torch.tensor([float("nan"), -0.0]))


def test_the_fingerprint_depends_on_the_key_and_on_all_places():
    values = torch.zeros(1000)
    values[7] = 1.0
    other = torch.zeros(1000)
    other[900] = 1.0
    # Two changes of the highest bit of a word, which cancel in a sum.
    signs = values.clone()
    signs[[3, 801]] = -0.0
    assert len({fingerprint(one, key) for one in (values, other, signs) for key in (1, 2)}) == 6
    assert fingerprint(values, 1) == fingerprint(values.clone(), 1)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("windows", [1, 64])
def test_an_input_that_a_timed_call_changes_is_reported(worker: Worker, device: str, windows: int):
    worker.load(trace(lambda x, y: (x + y, y.add_(1))), device=device, kind="eager")
    values, addends = torch.randn(1000 + windows - 1), torch.randn(37)
    added = {"x": (addends, None, None), "y": (addends, None, None)} if windows > 1 else {}
    worker.pools(windows=windows, addends=added, x=values, y=values)
    worker.time(restore=True)
    kept = worker.request("fetch")
    assert [layout["name"] for layout in kept["mutated"]] == ["y"]
    after = worker.outputs(kept)[1]
    assert torch.equal(worker.tensor(kept["mutated"][0]), after)


def test_sums_are_rounded_once_and_then_bounded():
    out = torch.empty(2, dtype=torch.bfloat16)
    summed(torch.tensor([1.0, 1.0, 3.0]).bfloat16(), torch.tensor([0.0078125, 9.0]).bfloat16(), [out], None, 4.0)(
        0, 0, 0
    )
    assert out.tolist() == [1.0078125, 4.0]
