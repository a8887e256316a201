"""One-line summaries of exceptions."""

from __future__ import annotations

import os

_PACKAGE = os.path.dirname(__file__) + os.sep


def first_line(error: BaseException) -> str:
    """Returns the first line of the exception's message that is not blank, or `no message`."""
    return next((line for line in str(error).splitlines() if line.strip()), "no message")


def message_and_line(error: BaseException) -> str:
    """Returns the first line of the message and, if Dynamo names one, the innermost line of the user's code that it could not capture."""
    message = first_line(error).strip()
    users = [frame for frame in getattr(error, "real_stack", None) or () if not frame.filename.startswith(_PACKAGE)]
    return f"{message} ({users[-1].filename}:{users[-1].lineno}, in `{users[-1].name}`)" if users else message


def summary(error: BaseException) -> str:
    """Returns the type of an exception and the first line of its message."""
    return f"{type(error).__name__}: {first_line(error)}"
