"""Inputs of a CUDA graph that stay at one address are read there."""

from __future__ import annotations

import copy

import pytest
import torch

import passnet
from passnet._compile.steady import Copies, InPlace, Watch

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def _large() -> torch.Tensor:
    """One that takes long to copy."""
    return torch.zeros(64 << 20, dtype=torch.int8)


def test_a_large_input_that_stays_is_steady_after_three_calls():
    steady, other = _large(), [_large() for _ in range(3)]
    watch = Watch()
    found = [watch.see([steady, tensor]) for tensor in other]
    assert found == [frozenset(), frozenset(), {0}]
    assert watch.see([steady, other[-1]]) == frozenset(), "it answers once"


def test_small_inputs_are_not_worth_a_recording():
    watch = Watch()
    x = torch.zeros(8)
    assert not any(watch.see([x, x]) for _ in range(5))


def test_an_input_that_moves_once_is_not_steady():
    watch = Watch()
    x, y = _large(), _large()
    assert not any(watch.see([value]) for value in (x, y, y, y, y))


def test_addresses_are_compared_where_inputs_are_read_in_place():
    x, y, z = torch.zeros(3), torch.zeros(3), torch.zeros(3)
    in_place = InPlace([x, y, z], frozenset([0, 2]))
    assert in_place.hold([x, torch.zeros(3), z])
    assert not in_place.hold([x, y, torch.zeros(3)])
    assert in_place.moved([y, y, z]) == {0}
    assert InPlace([x], frozenset()).hold([y])


def test_inputs_of_several_types_are_copied_together():
    inputs = [torch.arange(6.0).view(2, 3).t(), torch.arange(4), torch.ones(3), torch.tensor([True]), torch.empty(0)]
    memory = {place: torch.zeros_like(tensor) for place, tensor in enumerate(inputs) if place != 2}
    copies = Copies(memory)
    copies.fill(inputs)
    assert copies.places == [0, 1, 3, 4]
    for place, copied in memory.items():
        torch.testing.assert_close(copied, inputs[place], rtol=0, atol=0)


def _layers(x: torch.Tensor, weights: list[torch.Tensor]) -> torch.Tensor:
    for weight in weights:
        x = torch.nn.functional.gelu(x @ weight) * 0.5
    return x


def _weights(count: int = 40) -> list[torch.Tensor]:
    return [torch.randn(32, 32, device="cuda") / 6 for _ in range(count)]


@needs_gpu
@torch.no_grad()
def test_weights_that_are_arguments_are_read_in_each_call():
    compiled = passnet.compile(_layers, cuda_graphs=True)
    weights = _weights()
    for call in range(12):
        x = torch.randn(8, 32, device="cuda")
        torch.testing.assert_close(compiled(x, weights), _layers(x, weights), rtol=1e-4, atol=1e-5)
        # Another value at the same address, and after the sixth call another address.
        weights[call].mul_(1.5)
        if call > 5:
            weights[call] = copy.deepcopy(weights[call])


@needs_gpu
@torch.no_grad()
def test_all_inputs_may_move_after_a_recording_in_place():
    compiled = passnet.compile(_layers, cuda_graphs=True)
    x, weights = torch.randn(8, 32, device="cuda"), _weights()
    for _ in range(5):
        compiled(x, weights)
    kept = []
    for _ in range(4):
        x, weights = torch.randn(8, 32, device="cuda"), _weights()
        kept.append((compiled(x, weights), _layers(x, weights), x, weights))
    for found, expected, *_ in kept:
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@needs_gpu
@torch.no_grad()
def test_a_result_that_is_a_steady_argument_is_the_argument():
    def also(x: torch.Tensor, weights: list[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        return _layers(x, weights), weights[3]

    compiled = passnet.compile(also, cuda_graphs=True)
    x, weights = torch.randn(8, 32, device="cuda"), _weights()
    for _ in range(5):
        found, argument = compiled(x, weights)
        assert argument is weights[3]
    torch.testing.assert_close(found, _layers(x, weights), rtol=1e-4, atol=1e-5)
