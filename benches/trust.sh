#!/usr/bin/env bash
# Measures how far verdicts can be trusted, in a given time, without network and without Rust.
#
#   WHEEL=target/wheels/passnet-*.whl PASSNET_PYTHON=python3 benches/trust.sh OUT [SECONDS]
#
# SECONDS is 540 by default. Prints one line of JSON for each result, and appends it to OUT/results.jsonl:
#   quiet    eager mode against itself on 200 graphs of about 2 us: share of intervals that contain 1, and the median
#   busy     the same while a second evaluation runs on this machine
#   cost     time that the sandbox and the checks of measurements add to an evaluation (`passnet attacks --cost`)
#   attacks  the attack suite, all layers on
#   fuzz     disguises of forbidden kernels on all cores, for an hour of CPU time or what remains of SECONDS; runs while the
#            steps that follow it do
# DEVICE is the device of quiet, busy, contended and attacks (default: cuda where there is one, else cpu).
# STEPS="quiet cost" picks some, which then share the time of all. STEPS=contended is `busy` with a second evaluation that does
# not take turns, as that of another user: both then measure on the same core. VERDICTS (200) is the number of graphs.
# PASSNET and PASSNET_SITE replace WHEEL where both exist (benches/passnet.sh).
set -uo pipefail
cd "$(dirname "$0")/.."
mkdir -p "$1" && out=$(cd "$1" && pwd)
seconds=${2:-540} steps=${STEPS:-quiet busy cost fuzz attacks} verdicts=${VERDICTS:-200}
begin=$SECONDS
if [[ -n ${PASSNET:-} ]]; then
    passnet=$PASSNET
    export PASSNET_SITE=${PASSNET_SITE:-$PWD/python} PASSNET_PYTHON=${PASSNET_PYTHON:-python3}
else
    source benches/passnet.sh
fi
export PYTHONPATH=$PASSNET_SITE
device=${DEVICE:-$("$PASSNET_PYTHON" -c 'import torch; print("cuda" if torch.cuda.is_available() else "cpu")')}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Parts of the time; what is not used goes to the steps that follow. The attack suite has all that is left, next to the fuzzer.
declare -A weight=([quiet]=22 [busy]=26 [contended]=26 [cost]=10 [fuzz]=0 [attacks]=42)
left=0
for step in $steps; do left=$((left + weight[$step])); done
# Sets `share`, the seconds for a step.
take() {
    share=$((seconds - (SECONDS - begin)))
    if ((weight[$1])); then share=$((share * weight[$1] / left)); fi
    left=$((left - weight[$1]))
    echo "== $1, up to $share s" >&2
}
record() { tee -a "$out/results.jsonl"; }
# against_itself NAME FOLDER SECONDS: a run of eager mode.
against_itself() {
    timeout --signal=INT "$3" "$passnet" bench run "$scratch/graphs" --author eager --device "$device" --paths direct --out "$2/$1" >"$out/$1.txt" 2>&1
}
# second_evaluation FOLDER: runs until it is killed, on the same graphs.
second_evaluation() {
    trap 'kill -INT $child 2>/dev/null; exit' TERM
    while true; do
        "$passnet" bench run "$scratch/graphs" --author eager --device "$device" --paths direct --fresh --out "$1/second" >/dev/null 2>&1 &
        child=$!
        wait $child
    done
}

"$PASSNET_PYTHON" benches/trust/small_graphs.py "$scratch/graphs" "$verdicts"
for step in $steps; do
    take "$step"
    case $step in
    quiet)
        against_itself quiet "$scratch" "$share"
        "$PASSNET_PYTHON" benches/trust/against_itself.py quiet "$scratch/quiet" | record
        ;;
    busy | contended)
        # Evaluations take turns by a lock in the folder for temporary files.
        folder=${TMPDIR:-/tmp}
        [[ $step == contended ]] && folder=$scratch/second-user && mkdir -p "$folder"
        TMPDIR=$folder second_evaluation "$scratch" &
        second=$!
        against_itself "$step" "$scratch" "$share"
        kill -TERM $second && wait $second
        "$PASSNET_PYTHON" benches/trust/against_itself.py "$step" "$scratch/$step" | record
        ;;
    cost)
        "$passnet" attacks attacks --cost "$((share > 10 ? share - 8 : share))" --json >"$scratch/cost.json"
        "$PASSNET_PYTHON" -c 'import json, sys; print(json.dumps({"bench": "cost", **json.load(sys.stdin)}))' <"$scratch/cost.json" | record
        ;;
    attacks)
        timeout --signal=INT "$share" "$passnet" attacks attacks --device "$device" --jobs "${JOBS:-8}" --once --json >"$scratch/attacks.json"
        "$PASSNET_PYTHON" benches/trust/attack_totals.py attacks "$scratch/attacks.json" | record
        ;;
    fuzz)
        "$PASSNET_PYTHON" fuzz/disguises.py --seconds "$((share - 3))" --cpu-seconds 3600 --processes "${PROCESSES:-$(nproc)}" 2>"$out/fuzz.txt" |
            "$PASSNET_PYTHON" -c 'import json, sys; print(json.dumps({"bench": "fuzz", **json.load(sys.stdin)}))' | record &
        ;;
    esac
done
wait
echo "== done in $((SECONDS - begin)) s" >&2
