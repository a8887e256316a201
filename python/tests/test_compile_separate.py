"""`passnet.compile`: calls whose arguments or results share memory."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import pytest
import torch

import passnet
from passnet._backend.stopwatch import Comparison

SIZE = 8


def read_before_and_after(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    a = torch.sigmoid(x) * 2
    y.copy_(a + z)
    return (x + z) * a - 1


def written_twice(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    y.mul_(torch.sigmoid(x)).add_(1)
    z.mul_(2)
    return torch.relu(x) * 2 + z


def placed(offsets: Sequence[int | None], base: torch.Tensor) -> list[torch.Tensor]:
    """Returns an argument for each offset: at this offset of `base`, or in its own memory."""
    return [base[40:48].clone() if offset is None else base[offset : offset + SIZE] for offset in offsets]


@pytest.mark.parametrize("function", [read_before_and_after, written_twice])
def test_later_calls_whose_arguments_share_memory(function: Callable[..., torch.Tensor]):
    compiled = passnet.compile(function)
    places = [(0, 10, 20), *itertools.product((0, 1, None), repeat=3)]
    for offsets in places:
        base = torch.randn(48)
        other = base.clone()
        found, expected = compiled(*placed(offsets, base)), function(*placed(offsets, other))
        torch.testing.assert_close(found, expected)
        torch.testing.assert_close(base, other)
    assert compiled.report().eager == {}


def test_an_argument_that_is_part_of_a_buffer():
    class Counted(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("seen", torch.zeros(2, SIZE))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.seen.add_(torch.sigmoid(x) * 2)
            return torch.relu(self.seen) * x - 1

    model, other = Counted(), Counted()
    compiled = passnet.compile(model)
    for number in range(5):
        x = torch.randn(SIZE) if number < 2 else model.seen[number % 2]
        twin = x.clone() if number < 2 else other.seen[number % 2]
        torch.testing.assert_close(compiled(x), other(twin))
        torch.testing.assert_close(model.seen, other.seen)


def test_an_exception_of_such_a_call():
    def looked_up(x: torch.Tensor, table: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        return x.mul_(2) + torch.relu(table[places]) * 2

    compiled, table = passnet.compile(looked_up), torch.randn(4, SIZE)
    for places in ([1, 3], [0, 2]):
        x = torch.randn(2, SIZE)
        expected = looked_up(x.clone(), table, torch.tensor(places))
        torch.testing.assert_close(compiled(x, table, torch.tensor(places)), expected)
    with pytest.raises(IndexError):
        compiled(torch.randn(2, SIZE), table, torch.tensor([1, 4]))


def flat_twice(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    h = torch.relu(x) * 2 + 1
    return h.view(-1), h.view(-1)


def halves(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (torch.relu(x) * 2 + 1).chunk(2, -1)


def turned_and_flat(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    h = torch.nn.functional.layer_norm(x, (SIZE,)) + 1
    return h.t(), h.view(-1), h.t().unsqueeze(0)


@pytest.mark.parametrize("function", [flat_twice, halves, turned_and_flat])
@pytest.mark.parametrize("verify", [True, False])
def test_results_that_are_views_of_one_value_keep_their_pass(
    monkeypatch: pytest.MonkeyPatch, function: Callable[..., tuple[torch.Tensor, ...]], verify: bool
):
    monkeypatch.setattr(Comparison, "loses", False)
    compiled, x = passnet.compile(function, verify=verify), torch.randn(SIZE, SIZE)
    compiled(x)
    found, expected = compiled(x), function(x)
    torch.testing.assert_close(found, expected)
    assert [region.kept for region in compiled.report().specialisations[0].regions] == [True]
    found[0].fill_(5)
    expected[0].fill_(5)
    torch.testing.assert_close(found, expected)
    assert len({id(result) for result in found}) == len(found)
