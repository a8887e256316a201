"""Arguments of replacements: bind the values of a pattern's parameters to the arguments that a pass names."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from passnet._backend.indices import with_safe_indices
from passnet._passes.errors import PassError
from passnet._passes.load import Pass

_CONSTANTS = (int, float, complex, str, bool, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format)


def bound_replacement(rule: Pass) -> Callable[..., Any]:
    """Returns the replacement as a function of the values of the pattern's parameters. It raises `IndexError` for an index out of range."""
    return with_safe_indices(rule, unchecked_replacement(rule))


@dataclass(frozen=True)
class Arguments:
    """Arguments of a replacement: values of the pattern's parameters, and constants."""

    order: Sequence[int]
    """For each argument, its position among the values followed by the constants."""
    constants: Sequence[Any]

    def of(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Returns the arguments for these values of the pattern's parameters."""
        known = (*values, *self.constants)
        return tuple(known[place] for place in self.order)


def arguments_of(rule: Pass) -> Arguments | None:
    """Returns the arguments of the replacement; None if the pass computes them from the values."""
    marks = {name: object() for name in rule.parameters}
    try:
        given = rule.bind_arguments(marks)
    except PassError:
        return None
    places = {id(mark): place for place, mark in enumerate(marks.values())}
    if not all(id(value) in places or isinstance(value, _CONSTANTS) for value in given):
        return None
    constants = tuple(value for value in given if id(value) not in places)
    numbers = iter(range(len(places), len(places) + len(constants)))
    return Arguments([places[id(value)] if id(value) in places else next(numbers) for value in given], constants)


def unchecked_replacement(rule: Pass) -> Callable[..., Any]:
    """Returns the replacement as a function of the values of the pattern's parameters, without a check of indices."""
    arguments = arguments_of(rule)
    if arguments is None:
        return lambda *values: rule.replacement(*rule.bind_arguments(dict(zip(rule.parameters, values, strict=True))))
    if arguments.order == list(range(len(rule.parameters))):
        return rule.replacement
    select, constants = selector(arguments.order), arguments.constants
    if not constants:
        return lambda *values: rule.replacement(*select(values))
    # Constants are appended to the values, so that one call selects from both.
    return lambda *values: rule.replacement(*select((*values, *constants)))


def selector(places: Sequence[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Returns a function that takes the elements at these positions of a sequence."""
    if list(places) == list(range(len(places))):
        return operator.itemgetter(slice(0, len(places)))
    if len(places) == 1:
        return operator.itemgetter(slice(places[0], places[0] + 1))
    return operator.itemgetter(*places)
