"""Ranges of the integers that a graph computes, found in the text of the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch.fx

Range = tuple[int, int]
"""Least and greatest value, both included."""

# Functions whose result has only values of the first argument.
# fmt: off
_SAME = frozenset((
    "long", "int", "short", "to", "type_as", "contiguous", "clone", "detach", "view", "reshape", "unsqueeze", "squeeze",
    "expand", "expand_as", "flatten", "unflatten", "transpose", "permute", "movedim", "flip", "roll", "repeat",
    "repeat_interleave", "narrow", "select", "diagonal", "t", "getitem", "index_select", "gather",
))
_COMPARISONS = frozenset((
    "eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_not", "isin", "isnan", "isfinite", "bool",
))
# fmt: on
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
}


def range_of(value: Any) -> Range | None:
    """Returns a range that contains all elements of a value of a graph; `None` if no range is known.

    Overflow is ignored: an index near the limits of its dtype is out of range for any table.
    """
    if isinstance(value, (bool, int)):
        return int(value), int(value)
    if not isinstance(value, torch.fx.Node) or value.op not in ("call_function", "call_method"):
        return None
    target = value.target
    name = (target if isinstance(target, str) else getattr(target, "__name__", "")).split(".")[0].strip("_")
    name = name.removeprefix("i") if name in ("iadd", "isub", "imul") else name
    if name in _COMPARISONS:
        return 0, 1
    if name in _SAME:
        return range_of(value.args[0]) if value.args else None
    rule = _RULES.get(name)
    return rule(value) if rule is not None else None


def _arange(node: torch.fx.Node) -> Range | None:
    names = {"start", "end", "step"}
    if not all(isinstance(arg, int) for arg in node.args) or names & node.kwargs.keys():
        return None
    values = range(*node.args) if node.args else range(0)
    return (min(values), max(values)) if values else None


def _clamp(node: torch.fx.Node) -> Range | None:
    low, high = (node.kwargs.get(name, _argument(node, place)) for name, place in (("min", 1), ("max", 2)))
    if not all(bound is None or isinstance(bound, int) for bound in (low, high)):
        return None
    least, greatest = range_of(_argument(node, 0)) or (low, high)
    if least is None or greatest is None:
        return None
    # As in PyTorch, the upper bound wins if the lower bound is greater.
    raised = (max(value, least if low is None else low) for value in (least, greatest))
    lowered = [value if high is None else min(value, high) for value in raised]
    return lowered[0], lowered[1]


def _where(node: torch.fx.Node) -> Range | None:
    sides = [range_of(side) for side in node.args[1:3]]
    if len(sides) < 2 or None in sides:
        return None
    return min(low for low, _ in sides), max(high for _, high in sides)


def _arithmetic(node: torch.fx.Node, combine: Callable[[int, int], int]) -> Range | None:
    left, right = (range_of(_argument(node, place)) for place in (0, 1))
    if left is None or right is None or node.kwargs:
        return None
    ends = [combine(a, b) for a in left for b in right]
    return min(ends), max(ends)


def _remainder(node: torch.fx.Node) -> Range | None:
    divisor = _argument(node, 1)
    return (0, divisor - 1) if isinstance(divisor, int) and divisor > 0 else None


def _absolute(node: torch.fx.Node) -> Range | None:
    known = range_of(_argument(node, 0))
    if known is None:
        return None
    low, high = known
    return (0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))


def _full(node: torch.fx.Node) -> Range | None:
    return range_of(node.kwargs.get("fill_value", _argument(node, 1)))


def _argument(node: torch.fx.Node, place: int) -> Any:
    return node.args[place] if place < len(node.args) else None


_RULES: dict[str, Callable[[torch.fx.Node], Range | None]] = {
    "arange": _arange,
    "clamp": _clamp,
    "clip": _clamp,
    "where": _where,
    "remainder": _remainder,
    "mod": _remainder,
    "abs": _absolute,
    "full": _full,
    "full_like": _full,
    **{name: lambda _: (0, 0) for name in ("zeros", "zeros_like", "new_zeros")},
    **{name: lambda _: (1, 1) for name in ("ones", "ones_like", "new_ones")},
    **{
        name: lambda node, combine=combine: _arithmetic(node, combine)  # type: ignore[misc]
        for name, combine in _ARITHMETIC.items()
    },
}
