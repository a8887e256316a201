#!/usr/bin/env bash
# The built-in author's work as trajectories, measured on the GPU and on the CPU at the same time.
#
#   benches/gpu/teach.sh WHEEL SUITE OUT [JOBS] [SECONDS]
#
# WHEEL is a wheel made by `cargo xtask wheel` (empty where Rust is there to build everything), SUITE what is taught on,
# suites/passbench-train. JOBS attempts continue at a time (as many as there are cores), for SECONDS (900); what is being measured
# then is finished. The same call continues where it ended: from OUT/runs, or from OUT/DEVICE-state.tar.gz where only that was
# kept. Each call leaves in OUT
#   DEVICE.jsonl.zst        the trajectories that are right in the end and broke no rule: what `passnet traj` reads
#   DEVICE-stats.json       counts of all trajectories
#   DEVICE-state.tar.gz     what going on takes
#   DEVICE.log, doctor.json
# DEVICES ("cuda cpu"), TASKS (patterns of their names, all), STYLE (plain) and TRIALS (20) choose what is measured and how often: calls with
# tasks and OUTs of their own can share a machine. PASSNET_PYTHON is the interpreter (python3).
set -uo pipefail
cd "$(dirname "$0")/../.."
WHEEL=$1 suite=$2 jobs=${4:-$(nproc)} seconds=${5:-900}
mkdir -p "$3" && out=$(cd "$3" && pwd)
source benches/passnet.sh

# Each device gets cores of its own, the last of which measures. A process that begins on a GPU waits for the driver, one on
# the CPU compiles: three cores for the one, five for the other.
mapfile -t cores < <("$PASSNET_PYTHON" -c 'import os; print(*sorted(os.sched_getaffinity(0)), sep="\n")')
devices=(${DEVICES:-cuda cpu})
declare -A share=([cuda]=3 [cpu]=5)
read -ra patterns <<<"${TASKS:-}"
total=0
for device in "${devices[@]}"; do total=$((total + share[$device])); done

# teach DEVICE FIRST COUNT: lessons on some of the cores.
teach() {
    local device=$1 first=$2 count=$3 run=$out/runs/$1
    if [[ ! -d $run && -f $out/$device-state.tar.gz ]]; then
        mkdir -p "$out/runs" && tar -C "$out/runs" -xzf "$out/$device-state.tar.gz"
    fi
    local places
    places=$(IFS=,; echo "${cores[*]:first:count}")
    # The first signal has it finish what is being measured, the second ends it at once; both lose nothing.
    timeout --foreground --kill-after=60 "$seconds" taskset -c "$places" "$passnet" traj teach "$suite" --each-graph --style "${STYLE:-plain}" \
        --device "$device" --out "$run" --jobs $((jobs * count / ${#cores[@]} > 0 ? jobs * count / ${#cores[@]} : 1)) \
        --paths direct --trials "${TRIALS:-20}" --warmup 5 --timeout 30 "${patterns[@]/#/--filter=}" \
        >"$out/$device.log" 2>&1
    "$passnet" traj filter "$run" --correct --honest --out "$out/$device.jsonl.zst" >>"$out/$device.log" 2>&1
    "$passnet" traj stats "$run" --json >"$out/$device-stats.json"
    tar -C "$out/runs" --exclude trajectories.jsonl --exclude passes -czf "$out/$device-state.tar.gz" "$device"
}

first=0
for device in "${devices[@]}"; do
    "$passnet" doctor --device "$device" --json >"$out/doctor-$device.json" || true
    count=$((${#cores[@]} * share[$device] / total))
    if ((count == 0)); then count=1; fi
    teach "$device" "$first" "$count" &
    first=$((first + count < ${#cores[@]} ? first + count : 0))
done
wait
tail -n 3 "${devices[@]/#/$out/}".log 2>/dev/null || tail -n 3 "$out"/*.log
"$passnet" traj stats "$out"/*.jsonl.zst
