#!/usr/bin/env bash
# The tool `profile` with `ncu` and `compute-sanitizer`: eager mode, a right pass and one that writes outside of its tensor. Two minutes.
#
#   benches/gpu/profile_tools.sh [OUT]
#
# Prints the observations and writes the reports to OUT (profile-tools.jsonl). Fails if a tool reports nothing, except where the driver
# lets only administrators read its counters, or if the wrong access is not found. PASSNET_BINARY is the command (target/release/passnet or
# target/debug/passnet), PASSNET_PYTHON an interpreter with PyTorch, PASSNET_SITE (python/) has the native module. DEVICE (cuda) may be set.
set -euo pipefail
cd "$(dirname "$0")/../.."
for built in target/release/passnet target/debug/passnet; do
    [[ -n ${PASSNET_BINARY:-} || ! -x $built ]] || PASSNET_BINARY=$PWD/$built
done
export PASSNET_BINARY PASSNET_SITE=${PASSNET_SITE:-$PWD/python}
for tool in ncu compute-sanitizer; do
    command -v "$tool" || ls "${CUDA_HOME:-/usr/local/cuda}/bin/$tool" || echo "no $tool"
done
PYTHONPATH=$PASSNET_SITE "${PASSNET_PYTHON:-python3}" benches/gpu/profile_tools.py "${1:-profile-tools.jsonl}" "${DEVICE:-cuda}"
