#!/usr/bin/env bash
# The whole recipe on a CPU in some minutes: few graphs, a tiny model. It shows that the steps work, not a gain: sketches have kernels for
# GPUs, so no answer is right here.
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
"$passnet" fuse "$work/variants" --device cuda --out "$work/passes" >"$work/fuse.log"
"$python" $here/prepare.py --out "$work/data" --tasks "$work/f" --task-step 40 --practice "$work/train" --practice-step 500 \
    --lessons "$work/variants" "$work/passes" --context 6144
"$python" $here/nearest.py "$work/data" "$work/data/nearest" --neighbours 2
for form in copy sketch; do
    "$python" $here/pick.py "$passnet" "$work/data/graphs" "$work/data/nearest/$form-checked" "$work/data/nearest/$form-"?
done
export PASSNET=$passnet PASSNET_PYTHON=$python DEVICE=cpu TRIALS=10 JOBS=2 NOISE_REPEAT=2 NOISE_TRIALS=10 SAMPLES=2
sizes="--width 64 --layers 2 --heads 2 --context 6144"
TRAIN_FLAGS="$sizes --batch-tokens 8192 --generate-tokens 48" \
    GENERATE_FLAGS="--first 4 --generate-tokens 48" AGAIN_FLAGS="--batch-tokens 8192 --generate-tokens 48" \
    $here/h200.sh "$work/data" "$work/out" "$seconds" 1200
