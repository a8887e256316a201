#!/usr/bin/env bash
# The tests that need a GPU, and generation with a cache of fixed size on it.
#
#   benches/gpu/checks.sh OUT SECONDS [TEST ...]
#
# TEST are files under python/tests (all by default). PASSNET_PYTHON needs PyTorch, pytest and transformers. Writes OUT/tests.txt and OUT/generate.jsonl.
set -uo pipefail
cd "$(dirname "$0")/../.."
out=$1 seconds=$2
shift 2
python=${PASSNET_PYTHON:-python3}
export PYTHONPATH=$PWD/python:$PWD/python/tests PASSNET_SITE=$PWD/python
mkdir -p "$out"
tests=("${@/#/python/tests/}")
timeout --signal=INT "$((seconds / 2))" "$python" -m pytest -q --tb=short -p no:cacheprovider "${tests[@]:-python/tests}" 2>&1 |
    tee "$out/tests.txt" | tail -n 60
timeout "$((seconds / 2))" "$python" benches/generate.py --device cuda --dtype bfloat16 --tokens 64 --rounds 5 2>&1 | tee "$out/generate.jsonl" | tail -n 30
