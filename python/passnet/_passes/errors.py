"""The error of invalid pass directories."""

from __future__ import annotations


class PassError(Exception):
    """A pass directory, or a pass in it, is invalid.

    `stage` is that of the worker protocol: `import` or `rewrite`. `rule` names the pass, or is None if the directory itself is
    invalid. The cause is the exception that the pass raised, if it raised one.
    """

    def __init__(self, stage: str, rule: str | None, message: str) -> None:
        super().__init__(message)
        self.stage = stage
        self.rule = rule
