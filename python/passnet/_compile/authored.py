"""The passes that a language model has written for parts of a model: where they are, and what became of them in the whole model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from passnet._compile.errors import UsageError


def read_authored(file: Path | None) -> dict[str, Any] | None:
    """Reads the description that `passnet optimize --author llm:MODEL` writes; None without a file.

    Raises :class:`UsageError`.
    """
    if file is None:
        return None
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{file}: cannot be read: {error}; run `passnet optimize` again") from error


def passes_of(authored: dict[str, Any] | None) -> list[str]:
    """Returns the pass directories of the tasks that were solved."""
    return [] if authored is None else [task["passes"] for task in authored["tasks"] if task["passes"] is not None]


def keeps_any(authored: dict[str, Any], compiled: dict[str, Any]) -> bool:
    """Returns whether a region of the passes is kept."""
    directories = (Path(passes).resolve() for passes in passes_of(authored))
    return any(region["kept"] for directory in directories for region in _regions(compiled, directory))


def note_authors(authored: dict[str, Any], compiled: dict[str, Any], *, is_used: bool) -> dict[str, Any]:
    """Returns the description with what became of each task in the whole model. Notes the language model as author in its regions.

    If `is_used` is false, the passes are not part of the compiled model, which is faster without them.
    """
    tasks = []
    for task in authored["tasks"]:
        own = [] if task["passes"] is None else list(_regions(compiled, Path(task["passes"]).resolve()))
        for region in own:
            region["author"] = authored["author"]
        kept = [region for region in own if region["kept"]]
        gains = [region["eager_ns"] - region["fused_ns"] for region in kept if region["fused_ns"] is not None]
        task = {**task, "found": len(own), "kept": len(kept), "gain_ns": sum(gains)}
        if task["passes"] is not None and not kept:
            reasons = dict.fromkeys(region["reason"] for region in own)
            reason = "; ".join(reasons) or "its passes match nowhere"
            task["outcome"] = f"not used: {reason if is_used else 'the whole model is faster without it'}"
        tasks.append(task)
    return {**authored, "tasks": tasks}


def _regions(compiled: dict[str, Any], directory: Path) -> Iterator[dict[str, Any]]:
    for known in compiled["specialisations"]:
        for region in known["regions"]:
            kind, _, path = region["author"].partition(":")
            if kind == "dir" and Path(path).resolve() == directory:
                yield region
