"""One-line summaries of exceptions."""

from __future__ import annotations


def first_line(error: BaseException) -> str:
    """Returns the first line of the exception's message that is not blank, or `no message`."""
    return next((line for line in str(error).splitlines() if line.strip()), "no message")


def summary(error: BaseException) -> str:
    """Returns the type of an exception and the first line of its message."""
    return f"{type(error).__name__}: {first_line(error)}"
