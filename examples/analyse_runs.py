"""Reads what `passnet report --format csv` (or `parquet`) writes and says which author wins where.

Usage: python analyse_runs.py results.csv
"""

import sys

import numpy as np
import pandas as pd


def main(path: str) -> None:
    rows = pd.read_parquet(path) if path.endswith(".parquet") else pd.read_csv(path, dtype={"graph": str})
    good = rows[(rows.status == "correct") & (rows.stable == "yes")]

    # Geometric means of settled speed-ups, and how many of them exclude 1.
    by_author = good.groupby("author").agg(
        graphs=("graph", "size"),
        speedup=("speedup", lambda ratios: np.exp(np.log(ratios).mean())),
        faster=("speedup_low", lambda low: (low > 1).mean()),
        slower=("speedup_high", lambda high: (high < 1).mean()),
    )
    # As the leaderboard counts: an unsettled time says nothing against the values, a failed reference nothing against the author.
    judged = rows[rows.status != "reference_error"]
    right = judged.status.isin(["correct", "unstable"])
    by_author.insert(1, "correct", right.groupby(judged.author).mean())
    print(by_author.sort_values("speedup", ascending=False).round(3).to_string())

    print("\nFailures:")
    print(rows[rows.status != "correct"].groupby(["author", "status"]).size().to_string())

    # The best author of each task that any author speeds up beyond noise.
    sure = good[good.speedup_low > 1]
    best = sure.loc[sure.groupby(["suite", "task"]).speedup.idxmax(), ["task", "graph", "author", "speedup"]]
    print("\nLargest certain speed-ups:")
    print(best.sort_values("speedup", ascending=False).head(10).round(2).to_string(index=False))


if __name__ == "__main__":
    main(sys.argv[1])
