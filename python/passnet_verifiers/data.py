"""A row of the taskset."""

from __future__ import annotations

import verifiers.v1 as vf


class PassData(vf.TaskData):
    """One task, and the address of its server."""

    suite: str
    url: str
    flags: list[str]
