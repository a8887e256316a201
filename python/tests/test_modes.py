"""Modes of checked calls do not import Dynamo, which would take each worker more than a second."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys

import torch

from passnet._monitor import allocations, intercept
from passnet._worker import float64

watched = intercept.guarded(lambda x: torch.empty_like(x), intercept.Watch(operators=True, poison=True))
result, _ = allocations.guarded(watched, [torch.ones(4)], 1)
with float64.everything():
    assert torch.ones(4).dtype == torch.float64
assert not any(name.startswith("torch._dynamo") for name in sys.modules)
"""


def test_checked_calls_and_calls_in_float64_do_without_dynamo():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)
