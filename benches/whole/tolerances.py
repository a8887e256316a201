"""Tolerances of the comparison, without PyTorch."""

from __future__ import annotations

# Exponents of (rtol, atol) for each step of the tolerance, as in `passnet_score::tolerance`.
STEPS = {"float16": (0.6, 1.0), "bfloat16": (0.3592, 1.0), "float32": (1.1772, 1.0), "float64": (1.4, 1.4)}
TOLERANCES = range(-10, 6)


def tolerance(dtype: str, t: int) -> tuple[float, float]:
    """`(rtol, atol)` of a type at a tolerance."""
    rtol, atol = STEPS[dtype]
    return 10 ** (rtol * t), 10 ** (atol * t)
