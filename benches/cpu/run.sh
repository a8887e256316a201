#!/usr/bin/env bash
# Measures what docs/results/cpu.md reports, on a machine that is otherwise idle: reading, the cost of an evaluation, A/A,
# TorchInductor on real subgraphs, the demo suite. Under 25 minutes on two cores, with everything built before.
#
#   benches/cpu/run.sh SUITE OUT [TASKS]
#
# SUITE is the public PassBench (a folder of tasks, or its .tar.zst), of which the first TASKS (40) are taken with one graph
# each; OUT a folder for the results: logs, report.json, report.html, bench-*.json, and cpu.md, the fragment for the page.
# WHEEL and PASSNET_PYTHON choose the command and the interpreter (benches/passnet.sh); parse and eval need Rust.
# STEPS="parse eval aa tasks demo" picks parts.
# An interrupted call continues where it was.
set -uo pipefail
cd "$(dirname "$0")/../.."
suite=$1 tasks=${3:-40}
mkdir -p "$2" && out=$(cd "$2" && pwd)
steps=" ${STEPS:-parse eval aa tasks demo} "
begin=$SECONDS

source benches/passnet.sh
"$passnet" doctor --json >"$out/doctor.json"

wanted() { [[ $steps == *" $1 "* ]]; }
note() { printf '== %s (%d min)\n' "$1" $(((SECONDS - begin) / 60)) >&2; }
# run NAME SUITE AUTHOR [FLAGS]: one run, and how long it took.
run() {
    local name=$1 from=$2 author=$3
    shift 3
    note "$name"
    "$passnet" bench run "$from" --author "$author" --device cpu --paths direct --out "$out/runs/$name" "$@" 2>&1 |
        tail -n 4 >&2
}

for bench in parse eval; do
    if wanted $bench; then
        note "bench $bench"
        cargo xtask bench $bench | tee "$out/bench-$bench.txt" >&2
        tail -n 1 "$out/bench-$bench.txt" >"$out/bench-$bench.json"
    fi
done
# Twice the same graphs under other seeds: is the interval as wide as it has to be?
if wanted aa; then
    run aa-demo suites/demo eager
    run aa-demo-2 suites/demo eager --graphs-per-task 2 --seed 7
    run noop-demo suites/demo noop --graphs-per-task 2
fi
if wanted tasks; then
    few=(--graphs-per-task 1 --tasks "$tasks" --timeout 60)
    run aa-passbench "$suite" eager "${few[@]}"
    run inductor-passbench "$suite" inductor "${few[@]}"
fi
if wanted demo; then
    run passes-demo suites/demo dir:suites/demo/passes
    run fuse-demo suites/demo fuse --graphs-per-task 1
    run inductor-demo suites/demo inductor --graphs-per-task 1
fi

note report
"$passnet" report "$out"/runs/* --html "$out/report.html"
"$passnet" report "$out"/runs/* --format json >"$out/report.json"
"$PASSNET_PYTHON" benches/cpu_page.py "$out" >"$out/cpu.md" && cat "$out/cpu.md"
note "done, results in $out"
