"""Exceptions of code under test, as the referee wants to know them."""

from __future__ import annotations

import os
import traceback
from typing import Any

import torch

MAX_MESSAGE = 4_000
MAX_TRACEBACK = 16_000

_HARNESS = os.path.dirname(os.path.abspath(__file__)) + os.sep
# After one of these the CUDA context answers every call with an error.
_FATAL_MARKS = ("CUDA error", "CUDA driver error", "Triton Error [CUDA]", "device-side assert", "cuDNN error")
_COMPILE_ERRORS = ("BackendCompilerFailed", "InductorError", "CompilationError", "KernelCompileError", "Unsupported")


class KernelCompileError(Exception):
    """The compiler refused a kernel; the message is the compiler's."""


class PassError(Exception):
    """A pass directory, or a pass in it, is not as it should be.

    `stage` is that of the protocol (`import` or `rewrite`); `rule` names the pass, if it is one pass. The cause, if
    there is one, is what the pass itself raised.
    """

    def __init__(self, stage: str, rule: str | None, message: str) -> None:
        super().__init__(message)
        self.stage = stage
        self.rule = rule


def describe(error: BaseException, stage: str) -> dict[str, Any]:
    """The `failed` reply for an exception that ended a request in the given stage."""
    rule = None
    root, message = error, None
    for link in _chain(error):
        if isinstance(link, PassError):
            stage, rule = link.stage, link.rule
            root = link.__cause__ or link
            message = f"{link}: {_message(root)}" if link.__cause__ else str(link)
        elif type(link).__name__ in _COMPILE_ERRORS:
            stage = "compile"
            root = getattr(link, "inner_exception", None) or link
    message = message or _message(root)
    return {
        "type": "failed",
        "stage": stage,
        "exception": _name(root),
        "message": message[:MAX_MESSAGE],
        "traceback": _format(root)[-MAX_TRACEBACK:],
        "pass": rule,
        "fatal": _is_fatal(root),
    }


def _chain(error: BaseException) -> list[BaseException]:
    links: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in links:
        links.append(link)
        link = getattr(link, "inner_exception", None) or link.__cause__
    return links


def _message(error: BaseException) -> str:
    if isinstance(error, SyntaxError):  # With file, line and the text of the line.
        return "".join(traceback.format_exception_only(error)).strip()
    return str(error)


def _name(error: BaseException) -> str:
    if isinstance(error, RuntimeError) and "can't allocate memory" in str(error):
        return "OutOfMemoryError"
    return type(error).__name__


def _is_fatal(error: BaseException) -> bool:
    if isinstance(error, torch.OutOfMemoryError):
        return False
    accelerator_error = getattr(torch, "AcceleratorError", ())
    return isinstance(error, accelerator_error) or any(mark in str(error) for mark in _FATAL_MARKS)


def _format(error: BaseException) -> str:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(_HARNESS)]
    lines = ["Traceback (most recent call last):\n", *traceback.format_list(frames)] if frames else []
    return "".join([*lines, *traceback.format_exception_only(error)])
