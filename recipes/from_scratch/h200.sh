#!/usr/bin/env bash
# Trains a decoder from random weights, evaluates it on PassBench-F with its baselines, improves it by its own right answers, evaluates
# again, and measures the noise of the reward: on one GPU without a network, in about nine minutes.
#
#   PASSNET=target/release/passnet recipes/from_scratch/h200.sh DATA OUT [TRAIN_SECONDS] [TOTAL_SECONDS]
#
# DATA is what `prepare.py`, `nearest.py` and `pick.py` wrote (DATA/nearest and DATA/graphs, or as .tar.gz). The interpreter is PASSNET_PYTHON (python3)
# and needs torch with CUDA and numpy. Give WHEEL, made by `cargo xtask wheel`, instead of PASSNET where nothing is built. Each stage
# writes to OUT when it is done, has a deadline, and is left out if the time does not suffice for it. CUDA_VISIBLE_DEVICES chooses the
# GPU. PART=decoder leaves out the baselines and PART=baselines runs nothing else, for two GPUs of one machine (PORT, OUT and cores of each
# its own). DEVICE, JOBS, TRIALS and the FLAGS are for tests.
set -uo pipefail
cd "$(dirname "$0")/../.."
data=$1 out=$(realpath -m "$2") seconds=${3:-120} total=${4:-500} here=recipes/from_scratch
export PASSNET_PYTHON=${PASSNET_PYTHON:-python3} PASSNET_SITE=${PASSNET_SITE:-$PWD/python} DEVICE=${DEVICE:-cuda} JOBS=${JOBS:-14}
if [[ -n ${PASSNET:-} ]]; then passnet=$PASSNET; else source benches/passnet.sh; fi
work=$(mktemp -d) samples=${SAMPLES:-4}
mkdir -p "$out"
cp -r "$data" "$work/data"
for packed in nearest graphs; do
    [[ -f $data/$packed.tar.gz ]] && tar -C "$work/data" -xzf "$data/$packed.tar.gz"
done
data=$work/data nearest=$work/data/nearest

left() { echo $((total - SECONDS - 8)); }

stage() {
    echo "$SECONDS s: $*" | tee -a "$out/stages.log"
}

# Runs a command for at most so many seconds, and at most until the end.
within() {
    local most=$1
    shift
    timeout --foreground --kill-after=5 "$(($(left) < most ? $(left) : most))" "$@"
}

# Summaries so far, in case the machine is removed.
keep() {
    cp "$work"/{results.json,results.md,runs.tar.gz,noise.json,extra.jsonl} "$out" 2>/dev/null
    tail -n 200 "$work"/*.log "$work"/runs/*.log >"$out/log.txt" 2>/dev/null
    cat "$work"/{train,improved}/curve.jsonl >"$out/curve.jsonl" 2>/dev/null
    "$PASSNET_PYTHON" - "$work" "$out" <<'PYTHON'
import json, pathlib, sys

work, out = map(pathlib.Path, sys.argv[1:])
found = {path.parent.name: json.loads(path.read_text()) for path in work.glob("*/summary.json")}
found["data"] = json.loads((work / "data/report.json").read_text())
(out / "summary.json").write_text(json.dumps(found, indent=1))
PYTHON
    (cd "$work" && tar -czf "$out/passes.tar.gz" {train,improved}/passes picked practice-[0-9]* runs/*.log runs/practice-*/run/run.jsonl* 2>/dev/null)
    return 0
}

# evaluate SECONDS NAME=FOLDER[:BASE]...
evaluate() {
    local most=$1
    shift
    LEFT=$(($(left) < most ? $(left) : most)) $here/evaluate.sh "$passnet" "$data/tasks.txt" "$work" "$@"
    keep
}

# pick NAME FOLDERS...: answers that pass the checks that need no device
pick() {
    local name=$1
    shift
    within 60 "$PASSNET_PYTHON" $here/pick.py "$passnet" "$data/graphs" "$work/picked/$name" "$@" >>"$work/pick.log" 2>&1
    tail -n 1 "$work/pick.log"
}

train() {
    local folder=$1 seconds=$2
    shift 2
    within $((seconds + 90)) "$PASSNET_PYTHON" $here/train.py "$data" "$work/$folder" --device "$DEVICE" --seconds "$seconds" \
        --samples "$samples" "$@" >"$work/$folder.log" 2>&1
    tail -n 3 "$work/$folder.log"
    keep
}

decoder() {
    stage train
    train train "$seconds" --checkpoints 1 --label decoder ${TRAIN_FLAGS:---compile}
    pick decoder "$work/train/passes/share-1" "$work/train/passes/sample-"*
    stage evaluate
    evaluate 100 "decoder=$work/train/passes/share-1" "decoder-checked=$work/picked/decoder:decoder"
}

noise() {
    (($(left) > 30)) || return 0
    stage noise
    "$passnet" env serve suites/demo --device "$DEVICE" --graphs-per-task 1 --paths direct --steps 4 \
        --trials "${NOISE_TRIALS:-100}" --listen "127.0.0.1:${PORT:-8801}" >>"$work/server.log" 2>&1 &
    local server=$! task=gpt2-gelu-tanh
    for _ in {1..60}; do (: >/dev/tcp/127.0.0.1/"${PORT:-8801}") 2>/dev/null && break || sleep 0.5; done
    PYTHONPATH=$PASSNET_SITE within 45 "$PASSNET_PYTHON" recipes/grpo/noise.py --url "http://127.0.0.1:${PORT:-8801}" --task $task \
        --passes suites/demo/passes/$task --repeat "${NOISE_REPEAT:-10}" --seconds 20 >"$work/noise.json" 2>"$work/noise.log"
    kill "$server"
    cat "$work/noise.json"
    keep
}

# One round: answers to training tasks without lessons, verdicts, training with those that are right. It needs about 120 seconds.
expert_iteration() {
    (($(left) > ${IMPROVE_SECONDS:-90})) && [[ -f $work/train/checkpoint.pt ]] || return 0
    stage sample
    within 45 "$PASSNET_PYTHON" $here/generate.py "$data" "$work/train/checkpoint.pt" "$work/practice" --device "$DEVICE" \
        --tasks practice.json --samples 2 ${GENERATE_FLAGS:-} >>"$work/improve.log" 2>&1
    "$PASSNET_PYTHON" -c 'import json, sys; print(*(task["id"] for task in json.load(open(sys.argv[1]))), sep="\n")' \
        "$data/practice.json" >"$work/practice.txt"
    stage judge
    SUITE=suites/passbench-train TRIALS=${JUDGE_TRIALS:-6} LEFT=${JUDGE_SECONDS:-70} $here/evaluate.sh "$passnet" \
        "$work/practice.txt" "$work" "practice-1=$work/practice-1" "practice-2=$work/practice-2:practice-1"
    "$PASSNET_PYTHON" $here/improve.py "$passnet" "$data" "$work" "$work/extra.jsonl" "practice-1=$work/practice-1" \
        "practice-2=$work/practice-2" 2>&1 | tee -a "$work/improve.log"
    keep
    [[ -s $work/extra.jsonl ]] || return 0
    stage improve
    train improved "${AGAIN_SECONDS:-15}" --begin "$work/train/checkpoint.pt" --extra "$work/extra.jsonl" --repeats 10 \
        --learning-rate 1e-4 --checkpoints 1 --label improved ${AGAIN_FLAGS:-}
    pick improved "$work/improved/passes/share-1" "$work/improved/passes/sample-"*
    stage evaluate again
    evaluate 90 "improved=$work/improved/passes/share-1:decoder" "improved-checked=$work/picked/improved:decoder-checked"
}

trap keep EXIT
mkdir -p "$work/picked"
"$passnet" doctor --device "$DEVICE" --json >"$work/doctor.log" 2>&1 &
if [[ ${PART:-} != baselines ]]; then
    decoder
    [[ ${PART:-} == decoder ]] || evaluate 60 "sketch=$nearest/sketch-0"
    noise
    expert_iteration
    stage untrained
    evaluate "$(left)" "untrained=$work/train/passes/step-0"
fi
if [[ ${PART:-} != decoder ]]; then
    stage baselines
    evaluate "$(left)" "sketch=$nearest/sketch-0" "sketch-checked=$nearest/sketch-checked:sketch" "copy=$nearest/copy-0" \
        "copy-checked=$nearest/copy-checked:copy" "fuse=fuse"
fi
stage end
cat "$work/results.md"
