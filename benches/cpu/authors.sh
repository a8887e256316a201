#!/usr/bin/env bash
# The authors against each other on the bundled suite, on this machine's processor: eager, fuse, inductor and the hand-written
# passes. On a machine that is otherwise idle; about a quarter of an hour on two cores with everything built before.
#
#   benches/cpu/authors.sh OUT [GRAPHS]
#
# OUT is a folder for the runs, report.json, report.html and doctor.json; GRAPHS how many graphs of each task are taken (1). The
# authors take turns every few tasks (STEP, 8), so that a change of the machine's speed meets all of them alike. SUITE
# (suites/demo) and AUTHORS ("eager fuse inductor dir:suites/demo/passes") choose what is measured; FLAGS go to each `bench run`:
# `--filter softmax` for a try. WHEEL and PASSNET_PYTHON choose the command and the interpreter (benches/passnet.sh). An
# interrupted call goes on where it was.
set -euo pipefail
cd "$(dirname "$0")/../.."
mkdir -p "$1" && out=$(cd "$1" && pwd)
graphs=${2:-1} suite=${SUITE:-suites/demo} step=${STEP:-8}
read -ra authors <<<"${AUTHORS:-eager fuse inductor dir:suites/demo/passes}"
read -ra flags <<<"--graphs-per-task $graphs ${FLAGS:-}"

source benches/passnet.sh
"$passnet" doctor --json >"$out/doctor.json"

# name AUTHOR: the folder of its run.
name() { tr -c '[:alnum:]\n' - <<<"${1/#dir:*/hand-written}"; }
total=$(find "$suite" -mindepth 2 -maxdepth 3 -name model.py | sed "s|^$suite/||; s|/.*||" | sort -u | wc -l)
for ((tasks = step; tasks < total + step; tasks += step)); do
    for author in "${authors[@]}"; do
        printf '== %s, tasks up to %d of %d\n' "$author" $((tasks < total ? tasks : total)) "$total" >&2
        # A failed graph is a result.
        "$passnet" bench run "$suite" --author "$author" --device cpu --paths direct --tasks "$tasks" \
            --out "$out/runs/$(name "$author")" "${flags[@]}" >/dev/null 2>>"$out/log.txt" || [ $? -eq 1 ]
    done
    # The next round begins with another author.
    authors=("${authors[@]:1}" "${authors[0]}")
done
"$passnet" report "$out"/runs/* --html "$out/report.html"
"$passnet" report "$out"/runs/* --format json >"$out/report.json"
