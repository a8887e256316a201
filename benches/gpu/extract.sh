#!/usr/bin/env bash
# Captures models on all CPU cores in a given time, and packs the samples for the way back. The GPU is not used: such machines have many
# cores, and libraries of models.
#
#   PASSNET=passnet benches/gpu/extract.sh OUT SECONDS SPECIFICATION...
#
# SPECIFICATION is as in `passnet extract`; the first ones are captured first. The call ends by itself before SECONDS and leaves
#   OUT/samples-0.tar.xz ...   folders of samples with the ledger, in files of at most 15 MiB each that are complete archives
#   OUT/extract.txt            the last lines of the command, the versions of the libraries, seconds and cores
# WORK (a new folder) keeps the samples; a call with the same WORK continues. JOBS (all cores), MEMORY_GIB (6) and MODEL_SECONDS (120)
# are limits. WHEEL or PASSNET (the command) and PASSNET_PYTHON as in benches/passnet.sh.
set -uo pipefail
cd "$(dirname "$0")/../.."
mkdir -p "$1" && out=$(cd "$1" && pwd)
seconds=$2
shift 2
if [[ -n ${PASSNET:-} ]]; then
    passnet=$PASSNET
    export PASSNET_SITE=${PASSNET_SITE:-$PWD/python} PASSNET_PYTHON=${PASSNET_PYTHON:-python3}
else
    source benches/passnet.sh
fi
# Before the number of threads is set, because `nproc` reads it.
cores=$(nproc)
# Each model has one core.
export OMP_NUM_THREADS=1
work=${WORK:-$(mktemp -d)}
mkdir -p "$work/samples"
# Two gigabytes of samples are packed in half a minute on 16 cores.
packing=45
timeout --signal=INT $((seconds - packing - SECONDS)) "$passnet" extract "$@" --out "$work/samples" \
    --jobs "${JOBS:-$cores}" --memory-gib "${MEMORY_GIB:-6}" --timeout "${MODEL_SECONDS:-120}" 2>"$work/log" >"$work/summary"
captured=$SECONDS
# Samples of one family are next to each other, so that they compress well; each archive has its own part of them.
"$PASSNET_PYTHON" - "$work/samples" "$out" <<'P'
import concurrent.futures, io, os, sys, tarfile
from pathlib import Path

samples, out = Path(sys.argv[1]), Path(sys.argv[2])
# Size of an archive before compression, which makes it about 60 times smaller.
PART = 400 << 20

files = sorted(path for path in samples.rglob("*") if path.is_file() and ".logs" not in path.parts)
parts, size = [[]], 0
for path in files:
    if size > PART:
        parts.append([])
        size = 0
    parts[-1].append(path)
    size += path.stat().st_size

def pack(number):
    with tarfile.open(out / f"samples-{number}.tar.xz", "w:xz", preset=3) as archive:
        for path in parts[number]:
            archive.add(path, path.relative_to(samples))

with concurrent.futures.ProcessPoolExecutor() as pool:
    list(pool.map(pack, range(len(parts))))
P
{
    tail -n 3 "$work/log"
    cat "$work/summary"
    wc -l <"$work/samples/extract.jsonl" | sed 's/$/ models tried/'
    "$PASSNET_PYTHON" -c '
import importlib.metadata as m
for name in ("torch", "timm", "torchvision", "torchaudio", "transformers", "diffusers"):
    try: print(name, m.version(name))
    except m.PackageNotFoundError: print(name, "is not installed")'
    echo "captured in $captured s, packed in $((SECONDS - captured)) s, on $cores cores"
} 2>&1 | tee "$out/extract.txt"
ls -l "$out"
