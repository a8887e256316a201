"""Messages for keyword arguments that a function does not have."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def suggests_keywords(function: Callable[P, R]) -> Callable[P, R]:
    """Makes a function raise a `TypeError` for an unknown keyword argument that says which one is similar, and which exist."""
    parameters = inspect.signature(function).parameters
    options = [name for name, parameter in parameters.items() if parameter.kind is parameter.KEYWORD_ONLY]

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs:
            if name not in parameters:
                close = difflib.get_close_matches(name, options, n=1)
                hint = f"; did you mean `{close[0]}`?" if close else ";"
                raise TypeError(
                    f"{function.__name__}() has no option `{name}`{hint} the options are {', '.join(options)}"
                )
        return function(*args, **kwargs)

    return checked
