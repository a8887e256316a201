#!/usr/bin/env bash
# The part of the attack suite that a GPU can run, from the wheel: bash benches/gpu/attacks.sh (a GPU machine; some minutes).
# Needs target/wheels/*.whl (cargo xtask wheel) and a Python with PyTorch, named by PYTHON (default python3).
set -euo pipefail
cd "$(dirname "$0")/../.."
out="${OUT:-target/gpu}"
mkdir -p "$out"
site="$(mktemp -d)"
trap 'rm -rf "$site"' EXIT
"${PYTHON:-python3}" -m pip install --quiet --no-index --no-deps --target "$site" target/wheels/*.whl
export PASSNET_PYTHON="${PYTHON:-python3}" PASSNET_SITE="$site"
"$site/bin/passnet" doctor --device cuda --json >"$out/doctor.json" || true
"$site/bin/passnet" attacks attacks --device cuda --jobs "${JOBS:-8}" --quick --json >"$out/attacks.json" || true
"$PASSNET_PYTHON" - "$out/attacks.json" <<'PYTHON'
import json, sys

report = json.load(open(sys.argv[1]))
print(report["totals"])
for entry in report["entries"]:
    if entry["outcome"] not in ("caught", "passed", "skipped"):
        print(entry["name"], entry["outcome"], entry["verdict"], entry["detail"])
PYTHON
