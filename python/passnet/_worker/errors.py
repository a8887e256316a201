"""Descriptions of exceptions of the code under test, for the referee."""

from __future__ import annotations

import os
import re
import traceback
from pathlib import Path
from typing import Any

from passnet._passes.errors import PassError
from passnet.kernels._errors import is_fatal

MAX_MESSAGE = 4_000
MAX_TRACEBACK = 16_000

# Folder of this package. Tracebacks leave out frames of its files.
_HARNESS = str(Path(__file__).resolve().parents[1]) + os.sep
# Parts of messages about memory, for errors that have no type of their own.
_MEMORY_MARKS = (
    *("can't allocate memory", "out of memory", "CUDA_ERROR_OUT_OF_MEMORY"),
    *("CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED"),
)
# Temporary folder of an evaluation, whose name the referee draws. It is gone when the message is read.
_SCRATCH = re.compile(r"(/[^\s\"']*)?/passnet-scratch-[^/\s\"']+/")
_COMPILE_ERRORS = (
    *("BackendCompilerFailed", "InductorError", "CompilationError", "KernelCompileError", "KernelRefusedError"),
    "Unsupported",
)


def describe(error: BaseException, stage: str) -> dict[str, Any]:
    """Returns the `failed` reply for an exception that ended a request in this stage."""
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
        "message": _SCRATCH.sub("", message)[:MAX_MESSAGE],
        "traceback": _SCRATCH.sub("", _format(root))[-MAX_TRACEBACK:],
        "pass": rule,
        "fatal": is_fatal(root),
    }


def _chain(error: BaseException) -> list[BaseException]:
    links: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in links:
        links.append(link)
        link = getattr(link, "inner_exception", None) or link.__cause__
    return links


def _message(error: BaseException) -> str:
    if isinstance(error, SyntaxError):  # The message has the file, the line and the text of the line.
        return "".join(traceback.format_exception_only(error)).strip()
    return str(error)


def _name(error: BaseException) -> str:
    if isinstance(error, RuntimeError) and any(mark in str(error) for mark in _MEMORY_MARKS):
        return "OutOfMemoryError"
    return type(error).__name__


def _format(error: BaseException) -> str:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(_HARNESS)]
    lines = ["Traceback (most recent call last):\n", *traceback.format_list(frames)] if frames else []
    return "".join([*lines, *traceback.format_exception_only(error)])
