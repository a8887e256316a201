"""The exception for invalid pass directories."""

from __future__ import annotations


class PassError(Exception):
    """A pass directory, or a pass in it, is invalid.

    `stage` is a stage of the worker protocol: `import` or `rewrite`. `rule` names the pass, or is None if the directory itself is
    invalid. If the pass raised an exception, it is the cause (`__cause__`).
    """

    def __init__(self, stage: str, rule: str | None, message: str) -> None:
        super().__init__(message)
        self.stage = stage
        self.rule = rule
