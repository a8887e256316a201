"""Triton on a CPU: runs kernels in Triton's interpreter. Only their results count, not their times."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any


def enable() -> None:
    """Makes kernels that are defined later run in the interpreter.

    Triton decides this at the definition of a kernel, and its own library defines many kernels. If Triton was imported for
    compiled kernels, it is imported again, except for its native module, which a process can load only once.
    """
    if os.environ.get("TRITON_INTERPRET") != "1":
        os.environ["TRITON_INTERPRET"] = "1"
        for name in list(sys.modules):
            if (name == "triton" or name.startswith("triton.")) and not name.startswith("triton._C"):
                del sys.modules[name]
    try:
        from triton.runtime.driver import driver
    except ImportError:
        return
    driver.set_active(_Driver())
    correct_products()


def correct_products() -> None:
    """Corrects products of bfloat16 matrices in the interpreter, which stores bfloat16 as bits and multiplies the bits."""
    import numpy
    from triton.runtime import interpreter

    plain = interpreter.InterpreterBuilder.create_dot
    if getattr(plain, "knows_bfloat16", False):
        return

    def create_dot(self: Any, a: Any, b: Any, *rest: Any) -> Any:
        def of_values(handle: Any) -> Any:
            if handle.dtype.scalar.name != "bf16" or handle.data.dtype != numpy.uint16:
                return handle
            values = (handle.data.astype(numpy.uint32) << 16).view(numpy.float32)
            return interpreter.TensorHandle(values, interpreter.tl.float32)

        return plain(self, of_values(a), of_values(b), *rest)

    create_dot.knows_bfloat16 = True  # type: ignore[attr-defined]
    interpreter.InterpreterBuilder.create_dot = create_dot


def is_interpreted(value: Any) -> bool:
    """Returns whether the value is a kernel that the interpreter runs."""
    interpreter = sys.modules.get("triton.runtime.interpreter")
    if interpreter is None:
        return False
    while hasattr(value, "fn") and not isinstance(value, interpreter.InterpretedFunction):
        value = value.fn  # autotuner, heuristics
    return isinstance(value, interpreter.InterpretedFunction)


class _Driver:
    """Replacement for a device's driver. The autotuner asks it for a function that measures."""

    def get_benchmarker(self) -> Callable[..., Any]:
        return _benchmark


def _benchmark(call: Callable[[], Any], quantiles: Sequence[float] = (0.5,), **_: Any) -> list[float]:
    """Returns the time of one call in milliseconds. One call is enough, because times in the interpreter have no meaning."""
    begin = time.perf_counter()
    call()
    return [(time.perf_counter() - begin) * 1e3] * len(quantiles)
