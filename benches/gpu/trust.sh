#!/usr/bin/env bash
# What the referee's defences do and cost on a GPU, in the time that is given.
#
#   benches/gpu/trust.sh SUITE OUT SECONDS [JOBS]
#
# SUITE is anything `passnet bench run` takes. Writes, in this order, and reports what it has when the time ends:
#   attacks.json     the attack suite's entries for a GPU, all layers on
#   tests.txt        the tests of timed calls and of guarded kernels that need a GPU
#   overwriting.txt  time of contents and of overwriting between calls, per call
#   aa.json          eager mode against itself
# WHEEL or PASSNET (the command) and PASSNET_PYTHON as in benches/passnet.sh. DEVICE=cpu tries the script without a GPU.
set -uo pipefail
cd "$(dirname "$0")/../.."
suite=$1 out=$2 seconds=$3 jobs=${4:-8}
mkdir -p "$out"
if [[ -n ${PASSNET:-} ]]; then
    passnet=$PASSNET
    export PASSNET_SITE=${PASSNET_SITE:-$PWD/python}
else
    source benches/passnet.sh
fi
python=${PASSNET_PYTHON:-python3} device=${DEVICE:-cuda}

timeout --signal=INT "$((seconds * 40 / 100))" "$passnet" attacks attacks --device "$device" --jobs "$jobs" --once --json >"$out/attacks.json"
"$python" - "$out/attacks.json" <<'PYTHON'
import json, sys

try:
    report = json.load(open(sys.argv[1]))
except ValueError:
    sys.exit("the attack suite did not end in its time")
print(report["totals"])
for entry in report["entries"]:
    if entry["outcome"] not in ("caught", "passed", "skipped"):
        print(entry["name"], entry["outcome"], entry["verdict"], entry["detail"])
PYTHON

PYTHONPATH=$PASSNET_SITE:$PWD/python/tests timeout --signal=INT "$((seconds * 20 / 100))" "$python" -m pytest -q -p no:cacheprovider --tb=short \
    python/tests/test_timed_device.py 2>&1 | tee "$out/tests.txt" | tail -n 15

PYTHONPATH=$PASSNET_SITE timeout "$((seconds * 10 / 100))" "$python" benches/gpu/overwriting.py --device "$device" 2>&1 | tee "$out/overwriting.txt"

runs=$(mktemp -d)
timeout --signal=INT "$((seconds * 25 / 100))" "$passnet" bench run "$suite" --author eager --device "$device" --graphs-per-task 1 --jobs "$jobs" \
    --paths direct --timeout 30 --out "$runs/eager" 2>&1 | tail -n 10
"$passnet" report "$runs"/* --format json >"$out/aa.json"
tar -C "$runs" -czf "$out/aa.tar.gz" --exclude blobs .
