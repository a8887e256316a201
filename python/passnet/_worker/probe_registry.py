"""Named probes: actions that a confined worker tries on request."""

from __future__ import annotations

from collections.abc import Callable

Probe = Callable[[str], str]


class Probes(dict[str, Probe]):
    """Probes by name. A probe takes one argument and returns its result as text, or raises an error if it was stopped."""

    def add(self, function: Probe) -> Probe:
        """Adds a function under its name. For use as a decorator."""
        self[function.__name__.removeprefix("_")] = function
        return function
