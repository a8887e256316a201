"""Summary of a run of eager mode against itself, as one line of JSON: `against_itself.py NAME RUN`."""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from logs import verdicts

# A share of intervals below the nominal one by more than this many standard deviations is not chance.
DEVIATIONS = 2.0
NOMINAL = 0.95


def main(name: str, run: Path) -> None:
    found = verdicts(run)
    statuses = Counter(verdict["status"] for verdict in found)
    # Only verdicts that count: a measurement that did not settle says so.
    timings = [verdict["timings"][0] for verdict in found if verdict["timings"] and verdict["status"] == "correct"]
    if not timings:
        print(json.dumps({"bench": name, "verdicts": len(found), "statuses": statuses}))
        return
    speedups = [timing["speedup"] for timing in timings]
    ratios = sorted(bound["ratio"] for bound in speedups)
    covered = sum(bound["low"] <= 1 <= bound["high"] for bound in speedups)
    least = NOMINAL - DEVIATIONS * math.sqrt(NOMINAL * (1 - NOMINAL) / len(speedups))
    outside = [
        {"graph": verdict["id"]["task"], "ratio": bound["ratio"], "low": bound["low"], "high": bound["high"]}
        for verdict in found
        if verdict["status"] == "correct" and verdict["timings"]
        for bound in [verdict["timings"][0]["speedup"]]
        if not bound["low"] <= 1 <= bound["high"]
    ]
    median = statistics.median(ratios)
    print(
        json.dumps(
            {
                "bench": name,
                "verdicts": len(found),
                "statuses": statuses,
                "measured": len(speedups),
                "eager_us_median": round(statistics.median(timing["base"]["median_ns"] for timing in timings) / 1e3, 2),
                "median_ratio": round(median, 5),
                "extremes": [round(ratios[0], 4), round(ratios[-1], 4)],
                "coverage": round(covered / len(speedups), 4),
                "half_width_median": round(
                    statistics.median(math.log(bound["high"] / bound["low"]) / 2 for bound in speedups), 5
                ),
                "coverage_within_chance": covered / len(speedups) >= least,
                "median_within_half_a_percent": abs(median - 1) <= 0.005,
                "outside": outside[:10],
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
