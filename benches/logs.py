"""What the pages of results have in common: reading the logs of runs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any


def verdicts(run: Path) -> list[dict[str, Any]]:
    """The last verdict of each graph, from the log, compressed or not."""
    log, packed = run / "run.jsonl", run / "run.jsonl.zst"
    text = (
        log.read_text()
        if log.exists()
        else subprocess.run(["zstd", "-dcq", packed], capture_output=True, check=True, text=True).stdout
    )
    # A process that was killed may have left half a line.
    events = [json.loads(line) for line in text.splitlines() if line.endswith("}")]
    last = {tuple(event["id"].values()): event for event in events if event["event"] == "verdict"}
    return list(last.values())
