#!/usr/bin/env bash
# Runs eager, TorchInductor and the built-in author on both paths over a suite, and passnet.compile, one graph per task, in the time
# that is given.
#
#   benches/gpu/authors.sh SUITE OUT SECONDS [JOBS] [DEVICES]
#
# SUITE is anything `passnet bench run` takes. DEVICES is how many GPUs are used at the same time (1 or 2; default: as many as there are).
# With two, TorchInductor runs on one and all others on the other, each with half of the CPU cores. Each run has a share of SECONDS.
# OUT/report.json and OUT/runs.tar.gz are written after each run, so that an end before time leaves what was measured.
# SERIES (one GPU) names other authors, paths and shares in percent: SERIES="fuse:direct:60 inductor:direct:40".
# WHEEL or PASSNET (the command) and PASSNET_PYTHON as in benches/passnet.sh. DEVICE=cpu tries the script without a GPU.
set -uo pipefail
cd "$(dirname "$0")/../.."
suite=$1 out=$2 seconds=$3 jobs=${4:-8} devices=${5:-}
mkdir -p "$out"
if [[ -n ${PASSNET:-} ]]; then
    passnet=$PASSNET
    export PASSNET_SITE=${PASSNET_SITE:-$PWD/python}
else
    source benches/passnet.sh
fi
device=${DEVICE:-cuda}
gpus=$(nvidia-smi --list-gpus 2>/dev/null | wc -l)
devices=${devices:-$((gpus > 1 ? 2 : 1))}
cores=$(nproc)
runs=$(mktemp -d)
"$passnet" doctor --device "$device" --json >"$out/doctor.json" || true

pack() {
    (
        flock 9
        "$passnet" report "$runs"/* --format json >"$out/report.json.new" 2>/dev/null && mv "$out/report.json.new" "$out/report.json"
        tar -C "$runs" -czf "$out/runs.tar.gz.new" --exclude blobs . 2>/dev/null
        mv "$out/runs.tar.gz.new" "$out/runs.tar.gz"
    ) 9>"$runs.lock"
}

# measure GPU CORES SECONDS AUTHOR PATH; the author `passnet.compile` is the compiler in passnet_compile.py.
measure() {
    local begin=$SECONDS author=$4
    [[ $author == passnet.compile ]] && author=compiler:benches/gpu/passnet_compile.py
    CUDA_VISIBLE_DEVICES=$1 timeout --signal=INT --kill-after=20 "$3" taskset -c "$2" "$passnet" bench run "$suite" --author "$author" --device "$device" \
        --graphs-per-task 1 --jobs "$jobs" --paths "$5" --timeout 150 --out "$runs/$4-$5" >"$out/$4-$5.txt" 2>&1
    echo "$4 $5: $((SECONDS - begin)) s of $3"
    tail -n 6 "$out/$4-$5.txt"
    pack
}

# series GPU CORES SECONDS AUTHOR:PATH:SHARE ... ; shares are percent.
series() {
    local gpu=$1 cores=$2 seconds=$3 part
    shift 3
    for part in "$@"; do
        IFS=: read -r author path share <<<"$part"
        measure "$gpu" "$cores" "$((seconds * share / 100))" "$author" "$path"
    done
}

usable=$((seconds * 95 / 100))
if ((devices > 1)); then
    series 0 "0-$((cores / 2 - 1))" "$usable" inductor:direct:50 inductor:compiled:50 &
    series 1 "$((cores / 2))-$((cores - 1))" "$usable" fuse:direct:35 passnet.compile:compiled:30 fuse:compiled:25 eager:direct:10 &
    wait
else
    default="fuse:direct:20 inductor:direct:20 eager:direct:5 passnet.compile:compiled:20 fuse:compiled:15 inductor:compiled:20"
    read -ra parts <<<"${SERIES:-$default}"
    series 0 "0-$((cores - 1))" "$usable" "${parts[@]}"
fi
pack
