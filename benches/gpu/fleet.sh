#!/usr/bin/env bash
# One GPU against all GPUs of a host on a local Ray cluster, then all of them with faults, in one call.
#
#   WHEEL=passnet.whl WHEELS=FOLDER benches/gpu/fleet.sh OUT SECONDS [SUITE [TASKS [AUTHOR [TRIALS]]]]
#
# WHEEL is a wheel made by `cargo xtask wheel`. WHEELS is a folder with a wheel of Ray (`benches/fleet/slim_ray.py`) and those of its
# dependencies that are missing here; nothing is downloaded. Instead of WHEEL, PASSNET may name a command that is built already, with
# PASSNET_PYTHON and PASSNET_SITE set. DEVICE (cuda), JOBS and CORES of a station may be set. Writes OUT/fleet.json after every step.
set -uo pipefail
cd "$(dirname "$0")/../.."
out=$1 seconds=$2 suite=${3:-suites/passbench-f} tasks=${4:-100} author=${5:-fuse} trials=${6:-}
began=$SECONDS
mkdir -p "$out"
if [[ -n ${PASSNET:-} ]]; then
    passnet=$PASSNET
else
    source benches/passnet.sh
fi
export PASSNET_PYTHON=${PASSNET_PYTHON:-python3}
if [[ -n ${WHEELS:-} ]]; then
    # Next to passnet, as `pip install "passnet[ray]"` does. Modules are compiled when they are imported: Ray has thousands.
    timeout 60 "$PASSNET_PYTHON" -m pip install --quiet --no-index --no-deps --no-compile --target "$PASSNET_SITE" "$WHEELS"/*.whl ||
        exit 3
    # The processes that Ray starts find it there.
    export PYTHONPATH=$PASSNET_SITE
fi
nvidia-smi --query-gpu=index,name,driver_version,memory.used --format=csv >"$out/gpus.csv" 2>/dev/null
# PyTorch and Ray are read from the disk once before anything is measured.
timeout 60 "$PASSNET_PYTHON" -c 'import ray, torch; print(f"Ray {ray.__version__}, PyTorch {torch.__version__}, {torch.cuda.device_count()} GPUs")' |
    tee "$out/versions.txt"
left=$((seconds - (SECONDS - began)))
timeout --kill-after=5 "$left" "$PASSNET_PYTHON" benches/gpu/fleet.py --passnet "$passnet" --suite "$suite" --tasks "$tasks" \
    --author "$author" --device "${DEVICE:-cuda}" --jobs "${JOBS:-10}" --cores "${CORES:-12}" ${trials:+--trials "$trials"} \
    --seconds "$((left - 3))" "$out"
