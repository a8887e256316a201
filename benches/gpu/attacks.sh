#!/usr/bin/env bash
# The attack suite's GPU entries, from the wheel: bash benches/gpu/attacks.sh (a GPU machine; under 100 s).
# Needs target/wheels/*.whl (cargo xtask wheel) and a Python with PyTorch, named by PYTHON (default python3).
set -euo pipefail
cd "$(dirname "$0")/../.."
out="${OUT:-target/gpu}"
mkdir -p "$out"
site="$(mktemp -d)"
trap 'rm -rf "$site"' EXIT
"${PYTHON:-python3}" -m pip install --quiet --no-index --no-deps --target "$site" target/wheels/*.whl
export PASSNET_PYTHON="${PYTHON:-python3}" PASSNET_SITE="$site"
"$site/bin/passnet" attacks attacks --device cuda --jobs 1 --quick --json | tee "$out/attacks.json"
