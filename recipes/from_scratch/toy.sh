#!/usr/bin/env bash
# The whole recipe on a CPU in some minutes: few graphs, a tiny model, passes for the CPU. It shows that the steps work, not a gain.
#
#   recipes/from_scratch/toy.sh PASSNET OUT [TRAIN_SECONDS]
#
# PASSNET is the command. The interpreter is PASSNET_PYTHON (python3).
set -euo pipefail
cd "$(dirname "$0")/../.."
passnet=$1 work=$2 seconds=${3:-60} here=recipes/from_scratch
python=${PASSNET_PYTHON:-python3}
mkdir -p "$work"
"$passnet" dataset export suites/passbench-train --table tasks --out "$work/train"
"$passnet" dataset export suites/passbench-f --table tasks --out "$work/f"
"$python" $here/variants.py "$work/train" "$work/variants" --ranges 1 --extents 1 --limit 40 --avoid "$work/f"
"$passnet" fuse "$work/variants" --device cpu --out "$work/passes" >"$work/fuse.log"
"$python" $here/prepare.py --out "$work/data" --tasks "$work/f" --task-step 40 --lessons "$work/variants" "$work/passes" \
    --context 6144
"$python" $here/nearest.py "$work/data" "$work/data/nearest"
"$python" $here/train.py "$work/data" "$work/out" --device cpu --seconds "$seconds" --checkpoints 1 --width 64 --layers 2 --heads 2 \
    --context 6144 --batch-tokens 8192 --generate-tokens 48
DEVICE=cpu TRIALS=10 LEFT=300 $here/evaluate.sh "$passnet" "$work/data/tasks.txt" "$work/out" \
    "step-0=dir:$work/out/passes/step-0" "share-1=dir:$work/out/passes/share-1" "nearest=dir:$work/data/nearest" fuse=fuse
cat "$work/out/results.md"
