#!/usr/bin/env bash
# Eager mode, all modes of `torch.compile` with those that tune, CUDA graphs of PyTorch and `passnet.compile`, on the smaller whole models.
#
#   benches/gpu/whole_tuned.sh OUT SECONDS [MODEL ...]
#
# OUT/rows.jsonl gets a line when a side of a model is done. OUT/runs.tar.gz, with the table and the logs of all sides, is written again
# every ten seconds, so that an end before time leaves what was measured. SECONDS count from the start, with the capture of the models.
# MODEL is part of a sample's folder. PASSNET_PYTHON needs PyTorch, and PASSNET_SITE (python/) the native module. DEVICE (cuda), DEVICES (1),
# JOBS (5: processes at a time), LIST (models to capture) and ALSO (further compilers, such as "thunder") may be set.
set -uo pipefail
cd "$(dirname "$0")/../.."
out=$1 seconds=$2
shift 2
python=${PASSNET_PYTHON:-python3}
export PYTHONPATH=${PASSNET_SITE:-$PWD/python}:$PWD/benches${PYTHONPATH:+:$PYTHONPATH}
mkdir -p "$out"
work=$(mktemp -d)
cp "${LIST:-benches/whole/smaller.txt}" "$work/models.txt"

pack() {
    "$python" -m whole.page "$out/rows.jsonl" "$out/page" >/dev/null 2>>"$out/pack.txt" || return
    tar -C "$out" -czf "$work/runs.tar.gz" --exclude runs.tar.gz . && mv "$work/runs.tar.gz" "$out"
}

"$python" benches/gpu/whole_models.py --tuned --out "$out" --seconds "$((seconds - 12))" --device "${DEVICE:-cuda}" \
    --devices "${DEVICES:-1}" --jobs "${JOBS:-5}" --also ${ALSO:-} --list "$work/models.txt" --work "$work" --models "$@" 2>&1 | tee "$out/log.txt" &
measurement=$!
packed=0
while kill -0 "$measurement" 2>/dev/null; do
    sleep 10
    rows=$(wc -l 2>/dev/null <"$out/rows.jsonl" || echo 0)
    # Part of a second on one core: the page needs no PyTorch.
    ((rows > packed)) && packed=$rows && pack
done
pack
[[ -f $out/page/table.md ]] && cat "$out/page/table.md"
rm -rf "$work"
