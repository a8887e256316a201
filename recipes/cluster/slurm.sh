#!/bin/bash
# A Ray cluster inside a Slurm job, and a run on it. PassNet, PyTorch and Ray are in a virtual environment that all nodes see.
#
#   sbatch --nodes=4 recipes/cluster/slurm.sh SUITE --author fuse --device cuda --out runs/fuse
#
# The job may end at any time: submit it again with the same arguments, and the run continues.
#SBATCH --job-name=passnet
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --gpus-per-node=8
#SBATCH --time=04:00:00
# Slurm sends SIGINT two minutes before the end, to the driver alone: it finishes the graphs in work and stops.
#SBATCH --signal=B:INT@120
set -euo pipefail

source "${PASSNET_VENV:-$HOME/passnet-venv}/bin/activate"
export RAY_USAGE_STATS_ENABLED=0
# Other users of the network must not reach this cluster: a token of this job, which `srun` passes on.
export RAY_AUTH_MODE=token RAY_AUTH_TOKEN
RAY_AUTH_TOKEN=$(python3 -c 'import secrets; print(secrets.token_hex(32))')

port=$((20000 + SLURM_JOB_ID % 20000))
# `awk` reads all of it: `head` would end scontrol with SIGPIPE, and that the job.
head_node=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | awk 'NR == 1')
head_ip=$(srun --nodes=1 --ntasks=1 --nodelist="$head_node" hostname --ip-address | awk '{print $1}')

# Ray gives its workers the niceness 15, at which other processes of the machine would take cores from measurements.
export RAY_worker_niceness=0
# `--block` keeps each in its step: Slurm ends them with the job, and nothing is ended by name.
srun --overlap --nodes=1 --ntasks=1 --nodelist="$head_node" \
    ray start --head --node-ip-address="$head_ip" --port="$port" --block &
sleep 20
if ((SLURM_NNODES > 1)); then
    srun --overlap --nodes=$((SLURM_NNODES - 1)) --ntasks=$((SLURM_NNODES - 1)) --exclude="$head_node" \
        ray start --address="$head_ip:$port" --block &
fi

passnet fleet run "$@" --address "$head_ip:$port" &
driver=$!
trap 'kill -INT "$driver"' INT TERM
# The first wait ends with the signal, the second with the driver.
wait "$driver" || wait "$driver"
