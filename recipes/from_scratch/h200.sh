#!/usr/bin/env bash
# Trains a decoder from random weights, evaluates it on PassBench-F, improves it by its own right answers, evaluates again, and measures
# the noise of the reward: on one GPU without a network, in about nine minutes.
#
#   PASSNET=target/release/passnet recipes/from_scratch/h200.sh DATA OUT [TRAIN_SECONDS] [TOTAL_SECONDS]
#
# DATA is what `prepare.py` and `nearest.py` wrote (DATA/nearest, or DATA/nearest.tar.gz). The interpreter is PASSNET_PYTHON (python3)
# and needs torch with CUDA and numpy. Give WHEEL, made by `cargo xtask wheel`, instead of PASSNET where nothing is built. Each stage
# writes to OUT when it is done, and is left out if the time does not suffice for it. DEVICE, JOBS, TRIALS, TRAIN_FLAGS are for tests.
set -uo pipefail
cd "$(dirname "$0")/../.."
data=$1 out=$2 seconds=${3:-190} total=${4:-550} here=recipes/from_scratch
export PASSNET_PYTHON=${PASSNET_PYTHON:-python3} PASSNET_SITE=${PASSNET_SITE:-$PWD/python} DEVICE=${DEVICE:-cuda} JOBS=${JOBS:-14}
if [[ -n ${PASSNET:-} ]]; then passnet=$PASSNET; else source benches/passnet.sh; fi
work=$(mktemp -d) practice=suites/passbench-train
mkdir -p "$out"
cp -r "$data" "$work/data"
[[ -f $data/nearest.tar.gz ]] && tar -C "$work/data" -xzf "$data/nearest.tar.gz"
data=$work/data

left() { echo $((total - SECONDS - 8)); }

stage() {
    echo "$SECONDS s: $*" | tee -a "$out/stages.log"
}

# Summaries so far, in case the machine is removed.
keep() {
    cp "$work/results.json" "$work/results.md" "$work/noise.json" "$out" 2>/dev/null
    tail -n 200 "$work"/*.log "$work"/runs/*.log >"$out/log.txt" 2>/dev/null
    cat "$work/train/curve.jsonl" "$work/improved/curve.jsonl" >"$out/curve.jsonl" 2>/dev/null
    "$PASSNET_PYTHON" - "$work" "$out" <<'PYTHON'
import json, pathlib, sys

work, out = map(pathlib.Path, sys.argv[1:])
found = {path.parent.name: json.loads(path.read_text()) for path in work.glob("*/summary.json")}
found["data"] = json.loads((work / "data/report.json").read_text())
(out / "summary.json").write_text(json.dumps(found, indent=1))
PYTHON
    (cd "$work" && tar -czf "$out/passes.tar.gz" --exclude blobs {train,improved}/passes practice-[0-9] extra.jsonl runs 2>/dev/null)
    return 0
}

evaluate() {
    LEFT=$1 $here/evaluate.sh "$passnet" "$data/tasks.txt" "$work" "${@:2}"
    keep
}

trap keep EXIT
"$passnet" doctor --device "$DEVICE" --json >"$work/doctor.log" 2>&1 &

stage train
timeout --foreground "$(left)" "$PASSNET_PYTHON" $here/train.py "$data" "$work/train" --device "$DEVICE" --seconds "$seconds" \
    ${TRAIN_FLAGS:---compile} >"$work/train.log" 2>&1
tail -n 4 "$work/train.log"
keep
stage evaluate
evaluate "$(left)" "share-1=dir:$work/train/passes/share-1" "nearest=dir:$data/nearest"

# One round of expert iteration needs about 150 seconds.
if (($(left) > ${IMPROVE_SECONDS:-130})) && [[ -f $work/train/checkpoint.pt ]]; then
    stage sample
    for seed in 0 1; do
        "$PASSNET_PYTHON" $here/generate.py "$data" "$work/train/checkpoint.pt" "$work/practice-$seed" --device "$DEVICE" \
            --tasks practice.json --temperature 0.7 --seed "$seed" ${GENERATE_FLAGS:-} >>"$work/improve.log" 2>&1
    done
    "$PASSNET_PYTHON" -c 'import json, sys; print(*(task["id"] for task in json.load(open(sys.argv[1]))), sep="\n")' \
        "$data/practice.json" >"$work/practice.txt"
    stage judge
    SUITE=$practice TRIALS=10 LEFT=${JUDGE_SECONDS:-55} $here/evaluate.sh "$passnet" "$work/practice.txt" "$work" \
        "practice-0=dir:$work/practice-0" "practice-1=dir:$work/practice-1"
    "$PASSNET_PYTHON" $here/improve.py "$passnet" "$data" "$work" "$work/extra.jsonl" "practice-0=$work/practice-0" \
        "practice-1=$work/practice-1" 2>&1 | tee -a "$work/improve.log"
    if [[ -s $work/extra.jsonl ]]; then
        stage improve
        "$PASSNET_PYTHON" $here/train.py "$data" "$work/improved" --device "$DEVICE" --begin "$work/train/checkpoint.pt" \
            --extra "$work/extra.jsonl" --repeats 10 --seconds "${AGAIN_SECONDS:-15}" --learning-rate 1e-4 --checkpoints 1 \
            --label improved \
            ${AGAIN_FLAGS:-} >>"$work/improve.log" 2>&1
        stage evaluate again
        evaluate "$(left)" "improved=dir:$work/improved/passes/share-1"
    fi
fi

if (($(left) > 40)); then
    stage noise
    "$passnet" env serve suites/demo --device "$DEVICE" --graphs-per-task 1 --paths direct --steps 4 \
        --trials "${NOISE_TRIALS:-100}" --listen 127.0.0.1:8801 >"$work/server.log" 2>&1 &
    server=$!
    for _ in {1..30}; do (: >/dev/tcp/127.0.0.1/8801) 2>/dev/null && break || sleep 0.5; done
    PYTHONPATH=$PASSNET_SITE timeout --foreground 60 "$PASSNET_PYTHON" recipes/grpo/noise.py --url http://127.0.0.1:8801 \
        --task gpt2-gelu-tanh --passes suites/demo/passes/gpt2-gelu-tanh --repeat "${NOISE_REPEAT:-6}" --seconds 30 \
        >"$work/noise.json" 2>"$work/noise.log"
    kill "$server"
    cat "$work/noise.json"
fi
stage the others
evaluate "$(left)" "step-0=dir:$work/train/passes/step-0" "fuse=fuse" "share-0.5=dir:$work/train/passes/share-0.5"
stage end
cat "$work/results.md"
