"""Runs one probe (`passnet doctor`). Only the request for a probe imports this module."""

from __future__ import annotations

from typing import Any

from passnet._worker.probe_escapes import ESCAPES
from passnet._worker.probe_needs import NEEDS


def run(name: str, argument: str) -> dict[str, Any]:
    """Runs a probe. Returns the `probed` reply: whether it succeeded, with its result or the error that stopped it."""
    try:
        return {"type": "probed", "done": True, "detail": {**ESCAPES, **NEEDS}[name](argument)}
    except Exception as error:
        return {"type": "probed", "done": False, "detail": f"{type(error).__name__}: {error}"[:1000]}
