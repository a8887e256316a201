#!/usr/bin/env bash
# Trains a decoder from random weights and evaluates it on PassBench-F, on one GPU without a network, in about seven minutes.
#
#   recipes/from_scratch/h200.sh WHEEL DATA OUT [TRAIN_SECONDS] [TOTAL_SECONDS]
#
# WHEEL is a wheel made by `cargo xtask wheel`, DATA what `prepare.py` and `nearest.py` wrote (DATA/nearest). The interpreter is
# PASSNET_PYTHON (python3) and needs torch with CUDA and numpy. OUT gets the curve, the passes of each checkpoint, a summary of each
# evaluation as soon as it is done, and results.json.
set -uo pipefail
cd "$(dirname "$0")/../.."
began=$SECONDS
WHEEL=$1 data=$2 out=$3 seconds=${4:-150} total=${5:-420}
mkdir -p "$out"
source benches/passnet.sh
device=${DEVICE:-cuda}
"$passnet" doctor --device "$device" --json >"$out/doctor.json" || true

"$PASSNET_PYTHON" recipes/from_scratch/train.py "$data" "$out" --device "$device" --seconds "$seconds" \
    ${TRAIN_FLAGS:-} 2>&1 | tee "$out/train.log" | tail -n 40

# The last checkpoint and the baselines first: if the time ends, earlier checkpoints are missing.
DEVICE=$device JOBS=${JOBS:-8} LEFT=$((total - (SECONDS - began))) \
    recipes/from_scratch/evaluate.sh "$passnet" "$data/tasks.txt" "$out" \
    "share-1=dir:$out/passes/share-1" "nearest=dir:$data/nearest" "fuse=fuse" "step-0=dir:$out/passes/step-0" \
    "share-0.5=dir:$out/passes/share-0.5" "share-0.25=dir:$out/passes/share-0.25"
cp "$data/report.json" "$out/data.json"
tar -C "$out" -czf "$out/passes.tar.gz" passes && rm -rf "$out/passes" "$out/checkpoint.pt"
cat "$out/results.md"
