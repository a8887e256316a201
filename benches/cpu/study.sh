#!/usr/bin/env bash
# The study of compilers on this machine's CPU, for docs/results: how often they make the bundled subgraphs slower.
# On a machine that is otherwise idle; about half an hour on two cores with everything built before.
#
#   benches/cpu/study.sh OUT [FLAGS]
#
# OUT is a folder for the runs, study.md, study.html and doctor.json. FLAGS go to `passnet study`: `--tasks 2` for a try.
# SUITE (suites/demo) and COMPILERS (inductor,inductor:max-autotune) choose what is studied; WHEEL and PASSNET_PYTHON the
# command and the interpreter (benches/passnet.sh). An interrupted call continues where it was.
set -euo pipefail
cd "$(dirname "$0")/../.."
mkdir -p "$1" && out=$(cd "$1" && pwd)
shift

source benches/passnet.sh
"$passnet" doctor --json >"$out/doctor.json"
"$passnet" study "${SUITE:-suites/demo}" --compilers "${COMPILERS:-inductor,inductor:max-autotune}" --device cpu \
    --graphs-per-task 1 --timeout 120 --out "$out" "$@"
# The logs without the blobs of trial times: what the figures are computed from.
tar -C "$out/runs" -czf "$out/runs.tar.gz" --exclude blobs .
