"""Measures the noise of the reward: the same passes repeatedly, against the width that their intervals promise.

    python recipes/grpo/noise.py --url http://127.0.0.1:8801 --task gpt2-gelu-tanh --passes suites/demo/passes/gpt2-gelu-tanh

Each episode ends with a new measurement, which no cache answers. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from itertools import combinations
from pathlib import Path

from passnet.trainers.rollout import Servers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True)
    parser.add_argument("--task", required=True)
    parser.add_argument("--passes", type=Path, required=True)
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=3600.0, help="no episode begins after these")
    arguments = parser.parse_args()
    answer = "".join(f"```text {path.name}\n{path.read_text()}\n```\n" for path in sorted(arguments.passes.iterdir()))
    intervals = []
    began = time.monotonic()
    for _ in range(arguments.repeat):
        if intervals and time.monotonic() - began > arguments.seconds:
            break
        with Servers((arguments.url,)).rollout(arguments.task) as rollout:
            intervals.append(rollout.submit(answer).info["interval"])
    print(json.dumps(summary(intervals), indent=1))


def summary(intervals: list[dict[str, float]]) -> dict[str, float | int]:
    """Returns the spread of the reward over all episodes, as a trainer sees it, and of those that settled: the spread of the measured
    point, the width of the intervals, and how often two intervals do not overlap."""
    rewards = [each["value"] for each in intervals]
    settled = [each for each in intervals if each["high"] > 0]
    pairs = list(combinations(settled, 2))
    separate = sum(one["value"] > two["high"] or two["value"] > one["high"] for one, two in pairs)
    points = [each["point"] for each in settled]
    return {
        "episodes": len(intervals),
        "unsettled": len(intervals) - len(settled),
        "reward_mean": round(statistics.fmean(rewards), 4) if rewards else 0.0,
        "reward_deviation": round(statistics.stdev(rewards), 4) if len(rewards) > 1 else 0.0,
        "point_mean": round(statistics.fmean(points), 4) if points else 0.0,
        "point_deviation": round(statistics.stdev(points), 4) if len(points) > 1 else 0.0,
        "value_deviation": round(statistics.stdev([each["value"] for each in settled]), 4) if len(settled) > 1 else 0.0,
        "width_median": round(statistics.median(each["high"] - each["value"] for each in settled), 4)
        if settled
        else 0.0,
        "pairs": len(pairs),
        "pairs_separate": separate,
    }


if __name__ == "__main__":
    main()
