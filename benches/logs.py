"""Reading the logs of runs, for all pages of results."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python/tests"))

from packed import unpacked


def verdicts(run: Path) -> list[dict[str, Any]]:
    """The last verdict of each graph, from the log, compressed or not."""
    log, packed = run / "run.jsonl", run / "run.jsonl.zst"
    text = log.read_text() if log.exists() else unpacked(packed.read_bytes()).decode()
    # A process that was killed may have left half a line.
    events = [json.loads(line) for line in text.splitlines() if line.endswith("}")]
    last = {tuple(event["id"].values()): event for event in events if event["event"] == "verdict"}
    return list(last.values())
