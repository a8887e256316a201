"""Warnings that name a line of the user's program."""

from __future__ import annotations

import os
import sys
import warnings

import torch

# Files of both packages, and code that they generate.
_INSIDE = (f"{os.path.dirname(os.path.abspath(__file__))}{os.sep}", f"{os.path.dirname(torch.__file__)}{os.sep}")
_INSIDE += ("<passnet", "<eval_with_key>")


def warn(message: str) -> None:
    """Issues a warning whose location is the innermost call that is neither in PassNet nor in PyTorch."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_INSIDE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, RuntimeWarning, stacklevel=level)
