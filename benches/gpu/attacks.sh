#!/usr/bin/env bash
# The part of the attack suite that a GPU can run, from the wheel: bash benches/gpu/attacks.sh (a GPU machine; some minutes).
# Needs target/wheels/*.whl (cargo xtask wheel) and a Python with PyTorch, named by PASSNET_PYTHON (default python3).
set -euo pipefail
cd "$(dirname "$0")/../.."
out="${OUT:-target/gpu}"
mkdir -p "$out"
WHEEL=$(ls target/wheels/*.whl)
source benches/passnet.sh
"$passnet" doctor --device cuda --json >"$out/doctor.json" || true
"$passnet" attacks attacks --device cuda --jobs "${JOBS:-8}" --quick --json >"$out/attacks.json" || true
"$PASSNET_PYTHON" - "$out/attacks.json" <<'PYTHON'
import json, sys

report = json.load(open(sys.argv[1]))
print(report["totals"])
for entry in report["entries"]:
    if entry["outcome"] not in ("caught", "passed", "skipped"):
        print(entry["name"], entry["outcome"], entry["verdict"], entry["detail"])
PYTHON
