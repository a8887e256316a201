#!/usr/bin/env bash
# Measures PassNet on one GPU: A/A, TorchInductor and the bundled passes, on a suite of real subgraphs.
#
#   benches/gpu/run.sh WHEEL SUITE OUT [GRAPHS_PER_TASK] [JOBS]
#
# WHEEL is a wheel made by `cargo xtask wheel`, SUITE anything `passnet bench run` takes, OUT a folder for the logs.
# The interpreter is PASSNET_PYTHON (python3 by default) and needs torch with CUDA.
set -uo pipefail
cd "$(dirname "$0")/../.."
WHEEL=$1 suite=$2 out=$3 graphs=${4:-1} jobs=${5:-6}
mkdir -p "$out"
source benches/passnet.sh
runs=$(mktemp -d)

"$passnet" doctor --device cuda --json >"$out/doctor.json"
"$passnet" doctor --device cuda

for author in ${AUTHORS:-eager inductor noop}; do
    "$passnet" bench run "$suite" --author "$author" --device cuda \
        --graphs-per-task "$graphs" --jobs "$jobs" --paths direct --timeout 60 --out "$runs/$author" 2>&1 | tail -n 20
done
"$passnet" bench run suites/demo --author dir:suites/demo/passes --device cuda --jobs "$jobs" --paths direct \
    --filter "${DEMO_FILTER:-*}" --out "$runs/demo-passes" 2>&1 | tail -n 20

"$passnet" report "$runs"/* --html "$out/report.html"
"$passnet" report "$runs"/* --format json >"$out/report.json"
# The logs without the blobs of trial times: what the figures in docs/results are computed from.
tar -C "$runs" -czf "$out/runs.tar.gz" --exclude blobs .
