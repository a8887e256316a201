#!/usr/bin/env bash
# From models to a suite and its evaluation, on a CPU:
#   docs/guides/dataset.sh [FOLDER [MODEL...]]
# Everything goes to FOLDER (default target/tutorial). Run it again after an interruption to continue.
# The default models need timm: pip install timm. MODEL may also be a function of a file, such as models.py:build.
set -euo pipefail
passnet=${PASSNET:-passnet}
out=${1:-target/tutorial}
models=("${@:2}")
[ ${#models[@]} -gt 0 ] || models=('timm:resnet1[048]*')

# 1. Capture the graphs of the models, with random weights.
"$passnet" extract "${models[@]}" --out "$out/samples"

# 2. Graphs to suites: drop duplicates, run each graph once, cut subgraphs of three kinds, make variants, prove that each runs.
"$passnet" dataset build-suites "$out/samples" --work "$out/data" --out "$out/suites" \
    --fusible 6 --classical 4 --single-op 4 --graphs 3 --other-graphs 3 --counted 8 --card "$out/card.md"

# 3. Look at the result.
"$passnet" dataset stats "$out/suites/passbench-f" --table subgraphs
"$passnet" dataset query "$out/data/unique" --table subgraphs --op relu --dtype float32 --limit 5

# 4. Evaluate an author on it.
"$passnet" bench run "$out/suites/passbench-f" --author noop --device cpu --tasks 1 --graphs-per-task 1 --out "$out/run"
