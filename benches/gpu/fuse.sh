#!/usr/bin/env bash
# Measures the built-in author on a part of a suite: tasks by name or operation, one graph each, in the time that is given.
#
#   benches/gpu/fuse.sh PASSNET SUITE OUT SECONDS JOBS [FILTER ...]
#
# PASSNET is the command, SUITE anything `passnet bench run` takes. Writes OUT/report.json and OUT/runs.tar.gz. What is measured when
# the time ends is in the report.
set -uo pipefail
cd "$(dirname "$0")/../.."
passnet=$1 suite=$2 out=$3 seconds=$4 jobs=$5
shift 5
filters=()
for filter in "$@"; do filters+=(--filter "$filter"); done
export PASSNET_SITE=${PASSNET_SITE:-$PWD/python}
mkdir -p "$out"
runs=$(mktemp -d)
timeout --signal=INT "$seconds" "$passnet" bench run "$suite" --author fuse --device cuda --correct-at -5 --graphs-per-task 1 \
    --jobs "$jobs" --paths direct --timeout 60 "${filters[@]}" --out "$runs/fuse" 2>&1 | tee "$out/log.txt" | tail -n 40
"$passnet" report "$runs"/* --format json >"$out/report.json"
tar -C "$runs" -czf "$out/runs.tar.gz" --exclude blobs .
