#!/usr/bin/env bash
# The authors against each other on the bundled suite, on this machine's CPU: eager, fuse, inductor and the hand-written
# passes. On a machine that is otherwise idle; about a quarter of an hour on two cores with everything built before.
#
#   benches/cpu/authors.sh OUT [GRAPHS]
#
# OUT is a folder for the runs, report.json, report.html and doctor.json; GRAPHS how many graphs of each task are taken (1). The
# authors take turns of SLICE (40) seconds, more than a run takes to start, so that a change of the machine's speed meets all of
# them. SUITE (suites/demo) and AUTHORS ("eager fuse inductor dir:suites/demo/passes") choose what is measured; FLAGS go to each
# `bench run`: `--filter softmax` for a try. WHEEL and PASSNET_PYTHON choose the command and the interpreter
# (benches/passnet.sh). An interrupted call continues where it was.
set -euo pipefail
cd "$(dirname "$0")/../.."
mkdir -p "$1" && out=$(cd "$1" && pwd)
graphs=${2:-1} suite=${SUITE:-suites/demo} slice=${SLICE:-40}
read -ra authors <<<"${AUTHORS:-eager fuse inductor dir:suites/demo/passes}"
read -ra flags <<<"--graphs-per-task $graphs ${FLAGS:-}"

source benches/passnet.sh
"$passnet" doctor --json >"$out/doctor.json"

# name AUTHOR: the folder of its run.
name() { tr -c '[:alnum:]\n' - <<<"${1/#dir:*/hand-written}"; }
while ((${#authors[@]})); do
    author=${authors[0]} authors=("${authors[@]:1}")
    printf '== %s\n' "$author" >&2
    # Interrupted, a run ends after the evaluations in flight, and continues at its next turn.
    code=0
    timeout --foreground --signal INT "$slice" "$passnet" bench run "$suite" --author "$author" --device cpu --paths direct \
        --out "$out/runs/$(name "$author")" "${flags[@]}" >/dev/null 2>"$out/log.txt" || code=$?
    case $code in
    0) ;;
    124) authors+=("$author") ;;
    *) cat "$out/log.txt" >&2 && exit "$code" ;;
    esac
done
"$passnet" report "$out"/runs/* --html "$out/report.html"
"$passnet" report "$out"/runs/* --format json >"$out/report.json"
