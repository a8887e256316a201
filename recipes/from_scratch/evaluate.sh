#!/usr/bin/env bash
# Evaluates authors on the first graph of some tasks, or on a whole suite, and writes OUT/results.json and OUT/results.md after each.
#
#   recipes/from_scratch/evaluate.sh PASSNET TASKS OUT NAME=AUTHOR[:BASE]...
#
# PASSNET is the command, TASKS a file with one name per line, or `all`, AUTHOR a folder of pass directories or the name of an author. With
# BASE, a name in OUT/runs, verdicts of this earlier run count for equal pass directories. Variables of the environment: SUITE
# (suites/passbench-f), DEVICE (cuda), JOBS, GRAPHS of each task (1, or `all`), PATHS (direct), TRIALS (20), TIMEOUT of an evaluation in
# seconds (30), and LEFT, the seconds after which nothing more is begun. A run that is cut off counts the tasks that it has.
#
# OUT/runs/NAME/run is a run with all verdicts and passes. OUT/runs.tar.gz has these runs as NAME/, for `passnet site`, `report` and
# `bundle`, without those whose name begins with `practice-`. Boards show NAME as the author.
set -uo pipefail
python=${PASSNET_PYTHON:-python3} passnet=$1 out=$(realpath -m "$3")
tasks=()
[[ $2 == all ]] || mapfile -t tasks <"$2"
selection=("${tasks[@]/#/--filter=}")
[[ ${GRAPHS:=1} == all ]] || selection+=(--graphs-per-task "$GRAPHS")
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
    # A run that is copied from another keeps its author, so folders are linked under one name. `--name` gives each run a name of its own.
    if [[ -d $author ]]; then
        ln -sfn "$(realpath "$author")" "$out/now"
        author=dir:$out/now
    fi
    [[ -n $base && -d $out/runs/$base/run ]] && cp -r "$out/runs/$base/run" "$out/runs/$name/run"
    timeout --foreground --kill-after=10 "$remaining" "$passnet" bench run "$suite" --author "$author" --name "$name" \
        --device "$device" ${selection[@]+"${selection[@]}"} --paths "${PATHS:-direct}" --trials "${TRIALS:-20}" --warmup 5 \
        --timeout "${TIMEOUT:-30}" ${JOBS:+--jobs "$JOBS"} --out "$out/runs/$name/run" >"$out/runs/$name.log" 2>&1
    "$python" "$(dirname "$0")/results.py" "$passnet" "$out"
done
shopt -s nullglob
cd "$out/runs" && runs=(*/run)
((${#runs[@]} == 0)) || tar -czf "$out/runs.tar.gz" --exclude 'practice-*' --transform 's,/run,,' -- "${runs[@]}"
