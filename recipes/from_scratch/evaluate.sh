#!/usr/bin/env bash
# Evaluates authors on the first graph of some tasks, and writes OUT/results.json and OUT/results.md after each.
#
#   recipes/from_scratch/evaluate.sh PASSNET TASKS OUT NAME=AUTHOR[:BASE]...
#
# PASSNET is the command, TASKS a file with one name per line, AUTHOR a folder of pass directories or the name of an author. With BASE, a
# name in OUT/runs, verdicts of this earlier run count for equal pass directories. SUITE (suites/passbench-f), DEVICE (cuda), JOBS, TRIALS
# (20) and LEFT, the seconds after which nothing more is begun, are variables of the environment. A run that is cut off counts the tasks
# that it has. OUT/runs/NAME/run is a run.
set -uo pipefail
python=${PASSNET_PYTHON:-python3} passnet=$1 out=$3
mapfile -t tasks <"$2"
shift 3
suite=${SUITE:-suites/passbench-f} device=${DEVICE:-cuda} left=${LEFT:-3600}
mkdir -p "$out/runs"
for pair in "$@"; do
    name=${pair%%=*} author=${pair#*=} base=
    [[ $author == *:* ]] && base=${author##*:} author=${author%:*}
    remaining=$((left - SECONDS))
    if ((remaining < 12)); then
        echo "$name: no time left"
        continue
    fi
    # An earlier call has this one.
    [[ -f $out/runs/$name.log ]] && continue
    mkdir -p "$out/runs/$name"
    # A run has one author for all time, so folders have the same name.
    if [[ -d $author ]]; then
        ln -sfn "$(realpath "$author")" "$out/now"
        author=dir:$out/now
    fi
    [[ -n $base && -d $out/runs/$base/run ]] && cp -r "$out/runs/$base/run" "$out/runs/$name/run"
    timeout --foreground --kill-after=10 "$remaining" "$passnet" bench run "$suite" --author "$author" --device "$device" \
        "${tasks[@]/#/--filter=}" --graphs-per-task 1 --paths direct --trials "${TRIALS:-20}" --warmup 5 --timeout 30 \
        ${JOBS:+--jobs "$JOBS"} --out "$out/runs/$name/run" >"$out/runs/$name.log" 2>&1
    "$python" "$(dirname "$0")/results.py" "$passnet" "$out"
done
