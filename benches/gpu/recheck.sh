#!/usr/bin/env bash
# Everything that only a GPU can check, after a change: attacks, overhead of blocks, eager mode against itself, tests, random graphs.
#
#   benches/gpu/recheck.sh SUITE OUT SECONDS [ATTACKS ...]
#
# SUITE is anything `passnet bench run` takes, ATTACKS further folders like `attacks`. Steps that measure run alone; then tests and random
# graphs share the cores. Each step has a share of SECONDS, and leaves its file when it ends:
#   attacks.json, NAME.json   the entries for a GPU, all layers on
#   overhead.md               overhead of blocks of timed calls
#   aa.json                   eager mode against itself
#   tests.txt                 the tests that use a GPU
#   author-SEED.txt           random graphs for the built-in author
# WHEEL or PASSNET (the command) and PASSNET_PYTHON as in benches/passnet.sh. DEVICE=cpu tries the script without a GPU.
set -uo pipefail
cd "$(dirname "$0")/../.."
suite=$1 out=$2 seconds=$3
shift 3
mkdir -p "$out"
if [[ -n ${PASSNET:-} ]]; then
    passnet=$PASSNET
    export PASSNET_SITE=${PASSNET_SITE:-$PWD/python} PASSNET_PYTHON=${PASSNET_PYTHON:-python3}
else
    source benches/passnet.sh
fi
python=$PASSNET_PYTHON device=${DEVICE:-cuda} jobs=${JOBS:-$(($(nproc) * 3 / 4))}
runs=$(mktemp -d)

# share PERCENT COMMAND ...: runs a command for at most this share of the time.
share() {
    local limit=$((seconds * $1 / 100))
    shift
    timeout --signal=INT --kill-after=10 "$limit" "$@"
}

for folder in attacks "$@"; do
    name=$(basename "$folder")
    share 22 "$passnet" attacks "$folder" --device "$device" --jobs "$jobs" --once --json >"$out/$name.json" 2>"$out/$name.txt"
    "$python" - "$out/$name.json" <<'PYTHON'
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
    echo "$name: $SECONDS s"
done

PYTHONPATH=$PASSNET_SITE "$python" benches/trust/overhead.py write "$runs/sizes"
share 12 "$passnet" bench run "$runs/sizes" --author eager --device "$device" --paths direct --out "$runs/overhead" >"$out/overhead.txt" 2>&1
"$python" benches/trust/overhead.py table "$runs/overhead" | tee "$out/overhead.md"
share 14 "$passnet" bench run "$suite" --author eager --device "$device" --graphs-per-task 1 --jobs "$jobs" --paths direct --timeout 30 \
    --out "$runs/eager" >"$out/aa.txt" 2>&1
tail -n 4 "$out/aa.txt"
"$passnet" report "$runs/eager" --format json >"$out/aa.json"
echo "measured: $SECONDS s"

# The kernels of the tests and of the random graphs are checked, not timed, so they may share the GPU.
left=$((seconds - SECONDS - 10)) fuzzers=()
for seed in ${SEEDS:-101001 102001 103001 104001}; do
    PYTHONPATH=$PASSNET_SITE timeout --signal=INT --kill-after=15 "$left" "$python" fuzz/author.py --passnet "$passnet" --device "$device" --seed "$seed" \
        --seconds $((left - 20)) >"$out/author-$seed.txt" 2>&1 &
    fuzzers+=($!)
done
PYTHONPATH=$PASSNET_SITE:$PWD/python/tests timeout --signal=INT --kill-after=10 "$left" "$python" -m pytest -q -n 8 -p no:cacheprovider --tb=short \
    python/tests/test_{timed_device,device_pool,device_code,worker_cuda,cuda_sources,launch,launch_arguments,triton_ready}.py \
    python/tests/test_{compile_cuda_graphs,compile_indices_on_gpu,compile_constants,compile_library,compile_steady,compile_timings,compile_ahead}.py \
    python/tests/test_{products,long_rows,constant_rows,double_precision,exact_operations,prompt_examples,compilers}.py 2>&1 |
    tee "$out/tests.txt" | tail -n 25
wait "${fuzzers[@]}"
tail -qn 2 "$out"/author-*.txt
echo "done: $SECONDS s"
