#!/usr/bin/env bash
# Lessons of the built-in author in all styles, on all CPU cores at the same time: each core has its own program, its own part of the tasks
# and its own measurements, with one thread.
#
#   benches/gpu/lessons.sh SUITE OUT SECONDS [PART] [PARTS]
#
# SUITE is what is taught on, suites/passbench-train. The call gives the lessons on part PART (1) of PARTS (1) of its tasks, shortest
# first, and ends by itself before SECONDS. Parts have no task in common, so calls on several machines can be joined. Each call leaves
#   OUT/lessons-PART-1.jsonl.zst ... -4   the lessons that are right in the end and broke no rule that they did not correct
#   OUT/lessons-PART.json                 counts of them
#   OUT/lessons-PART.txt                  the last lines of all programs, counts by style and verdict, lessons per second
# The files are also written every three minutes, so that an end before time leaves most lessons. To join the calls:
#   passnet traj dedup OUT... --by replies --out lessons.jsonl.zst
# WORK (a new folder) keeps the runs; a call with the same WORK, SUITE, PART and PARTS continues them. TRIALS (10), STYLES (all) and
# CORES (a list such as "0 1 2", all by default) choose more. WHEEL or PASSNET (the command) and PASSNET_PYTHON as in benches/passnet.sh.
set -uo pipefail
cd "$(dirname "$0")/../.."
suite=$1 seconds=$3 part=${4:-1} parts=${5:-1}
mkdir -p "$2" && out=$(cd "$2" && pwd)
if [[ -n ${PASSNET:-} ]]; then
    passnet=$PASSNET
    export PASSNET_SITE=${PASSNET_SITE:-$PWD/python} PASSNET_PYTHON=${PASSNET_PYTHON:-python3}
else
    source benches/passnet.sh
fi
work=${WORK:-$(mktemp -d)}
mkdir -p "$work/runs" "$work/logs"
export PASSNET_CACHE=${PASSNET_CACHE:-$work/cache}
# The measurement that runs at the end is finished, in at most the time limit of an evaluation. Then the files are packed.
timeout=20 packing=20
usable=$((seconds - timeout - packing))
read -ra cores <<<"${CORES:-$("$PASSNET_PYTHON" -c 'import os; print(*sorted(os.sched_getaffinity(0)))')}"
packs=$((${#cores[@]} < 4 ? ${#cores[@]} : 4))
styles=()
for style in ${STYLES:-}; do styles+=(--style "$style"); done

# teach PLACE: the lessons of one core. The lock for measurements is a file in TMPDIR, so a folder for each core lets all of them measure.
teach() {
    local place=$1 core=${cores[$1]}
    mkdir -p "$work/tmp/$core"
    # PARTS divides the number of shards, so that parts have no task in common for any number of cores.
    local shard=$((place * parts + part))/$((${#cores[@]} * parts))
    TMPDIR=$work/tmp/$core timeout --foreground --kill-after=$timeout $((usable - SECONDS)) taskset -c "$core" \
        "$passnet" traj teach "$suite" --each-graph --shard "$shard" "${styles[@]}" --device cpu --jobs 1 --paths direct \
        --trials "${TRIALS:-10}" --warmup 1 --timeout $timeout --out "$work/runs/$core" >"$work/logs/$core" 2>&1
}

# pack FILE: the lessons of every PACKS-th core. Each core writes its lessons about once a minute.
pack() {
    local runs=() place
    for ((place = $1 - 1; place < ${#cores[@]}; place += packs)); do
        if [[ -s $work/runs/${cores[place]}/trajectories.jsonl ]]; then runs+=("$work/runs/${cores[place]}"); fi
    done
    ((${#runs[@]} == 0)) || "$passnet" traj filter "${runs[@]}" --correct --honest --out "$out/lessons-$part-$1.jsonl.zst"
}

pack_all() {
    local file packers=()
    for ((file = 1; file <= packs; file++)); do
        pack "$file" &
        packers+=($!)
    done
    wait "${packers[@]}"
}

# Unpacks the suite once, and reads PyTorch from the disk once.
"$passnet" traj teach "$suite" --tasks 1 --count --out "$work/runs/first" || exit
begin=$SECONDS
for place in "${!cores[@]}"; do teach "$place" & done
while sleep 5 && [[ -n $(jobs -rp) ]]; do
    if (((SECONDS - begin) / 180 > ${packed:-0})); then
        packed=$(((SECONDS - begin) / 180))
        pack_all >/dev/null
    fi
done
taught=$((SECONDS - begin))
pack_all
{
    tail -qn 2 "$work"/logs/*
    "$passnet" traj stats "$out"/lessons-"$part"-*.jsonl.zst --json >"$out/lessons-$part.json"
    "$passnet" traj stats "$out"/lessons-"$part"-*.jsonl.zst
    "$PASSNET_PYTHON" - "$out/lessons-$part.json" $taught ${#cores[@]} <<'P'
import json, sys

count, seconds = json.load(open(sys.argv[1]))["attempts"], int(sys.argv[2])
print(f"{count} lessons in {seconds} s on {sys.argv[3]} cores: {count / max(seconds, 1):.2f} per second")
P
} 2>&1 | tee "$out/lessons-$part.txt"
