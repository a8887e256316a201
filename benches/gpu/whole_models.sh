#!/usr/bin/env bash
# Every compiler on whole models, in order of size, with static weights and with weights as inputs.
#
#   benches/gpu/whole_models.sh PASSNET SUITE OUT SECONDS
#
# PASSNET is the command, SUITE a folder from benches/models/ordered.py, OUT a folder for the logs. SECONDS are shared out: each run
# takes the models that it reaches. With TUNE=1 the tuning modes take what is left, and reach few. PASSNET_PYTHON needs PyTorch; DEVICE (cuda),
# TRIALS and JOBS may be set.
set -uo pipefail
cd "$(dirname "$0")/../.."
passnet=$1 suite=$2 out=$3 seconds=$4
device=${DEVICE:-cuda}
started=$SECONDS
runs=$(mktemp -d)
mkdir -p "$out"

pack() {
    # The logs without the blobs of trial times.
    tar -C "$runs" -czf "$out/runs.tar.gz.part" --exclude blobs . && mv "$out/runs.tar.gz.part" "$out/runs.tar.gz"
}

# One run: name, author, protocol, and its share of the time in percent.
bench() {
    local limit=$((seconds * $4 / 100)) left=$((seconds - (SECONDS - started) - 5))
    ((limit > left)) && limit=$left
    ((limit < 10)) && return
    # An interrupted run keeps the verdicts that it has.
    timeout --signal=INT --kill-after=8 "$limit" "$passnet" bench run "$suite" --author "$2" --device "$device" --weights "$3" \
        --paths direct --warmup 5 --trials "${TRIALS:-30}" --jobs "${JOBS:-6}" --timeout "$limit" \
        --out "$runs/$3-$1" >>"$out/bench.txt" 2>&1
    echo "$3 $1: $(($SECONDS - started)) s" | tee -a "$out/progress.txt"
    pack
}

for protocol in static inputs; do
    bench fuse fuse "$protocol" 9
    bench passnet-graphs compiler:benches/gpu/passnet_graphs.py "$protocol" 16
    bench inductor inductor "$protocol" 9
    bench reduce-overhead inductor:reduce-overhead "$protocol" 10
    if [[ $protocol == static ]]; then
        bench cudagraphs cudagraphs "$protocol" 6
        bench eager eager "$protocol" 4
    fi
done
if [[ -n ${TUNE:-} ]]; then
    bench max-autotune-no-cudagraphs inductor:max-autotune-no-cudagraphs static 50
    bench max-autotune inductor:max-autotune static 50
fi
"$passnet" report "$runs"/* --format json >"$out/report.json" 2>>"$out/bench.txt"
"$passnet" plot "$runs"/static-* --out "$out/figures" >>"$out/bench.txt" 2>&1
