"""Runs a function in a fork, so that its changes to a model or to the process are lost afterwards."""

from __future__ import annotations

import os
import pickle
import select
import signal
from collections.abc import Callable
from typing import Any

from passnet._summary import summary

_SECONDS = 60.0


class IsolatedError(RuntimeError):
    """The function raised an error. `kinds` has the names of the type of the error and of its base classes."""

    def __init__(self, message: str, kinds: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.kinds = kinds


def isolated(question: Callable[[], Any]) -> Any:
    """Runs `question` in a fork. Returns its result, which has to be plain data. Raises :class:`IsolatedError`."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _answer(question, writer)
    os.close(writer)
    try:
        data = _read(reader)
    finally:
        os.close(reader)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    if not data:
        raise IsolatedError("the process that calls the model ended or took too long")
    answer, error, kinds = pickle.loads(data)
    if error is not None:
        raise IsolatedError(error, kinds)
    return answer


def _answer(question: Callable[[], Any], writer: int) -> None:
    """Runs `question` in the fork, writes the result, and ends the fork."""
    try:
        answer: tuple[Any, ...] = (question(), None, ())
    except BaseException as error:
        answer = (None, summary(error), tuple(kind.__name__ for kind in type(error).__mro__))
    try:
        data = pickle.dumps(answer)
        while data:
            data = data[os.write(writer, data) :]
    finally:
        os._exit(0)


def _read(reader: int) -> bytes:
    data = b""
    while select.select([reader], [], [], _SECONDS)[0]:
        piece = os.read(reader, 1 << 16)
        if not piece:
            return data
        data += piece
    return b""
