"""Summary of `passnet attacks --json`, as one line of JSON: `attack_totals.py NAME FILE`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

AS_EXPECTED = ("caught", "passed", "skipped")


def main(name: str, path: Path) -> None:
    text = path.read_text()
    if not text:
        print(json.dumps({"bench": name, "error": "the attack suite did not end in its time"}))
        return
    report = json.loads(text)
    others = [
        {key: entry[key] for key in ("name", "outcome", "verdict", "detail")}
        for entry in report["entries"]
        if entry["outcome"] not in AS_EXPECTED
    ]
    print(json.dumps({"bench": name, "device": report["device"], "totals": report["totals"], "others": others}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
