"""The cluster files of the guide: they are read by what will read them, as far as that needs no cluster."""

import contextlib
import functools
import os
import signal
import subprocess
import sys
import time

import pytest

from agent_command import ROOT

yaml = pytest.importorskip("yaml", reason="needs PyYAML, which comes with ray")

FILES = ROOT / "recipes/cluster"


def test_ray_accepts_the_cluster_file():
    util = pytest.importorskip(
        "ray.autoscaler._private.util", reason="needs the package ray (pip install 'passnet[ray]')"
    )
    config = util.prepare_config(yaml.safe_load((FILES / "ray-cluster.yaml").read_text()))
    util.validate_config(config)
    assert config["max_workers"] == 2
    # Ray replaces the address of the file on this machine by that of the copy.
    assert list(config["file_mounts"]) == [f"/home/{config['auth']['ssh_user']}/.ray/auth_token"]
    commands = config["head_start_ray_commands"] + config["worker_start_ray_commands"]
    for command in commands:
        subprocess.run(["bash", "-n"], input=command, text=True, check=True)


def test_the_kubernetes_objects_are_whole():
    cluster, claim = yaml.safe_load_all((FILES / "kuberay.yaml").read_text())
    assert (cluster["apiVersion"], cluster["kind"]) == ("ray.io/v1", "RayCluster")
    spec = cluster["spec"]
    assert spec["authOptions"] == {"mode": "token"}
    # The operator refuses tokens for older versions; a number would not be text.
    assert tuple(map(int, spec["rayVersion"].split("."))) >= (2, 52)
    # KubeRay hands these to `ray start`, which takes text only.
    groups = [spec["headGroupSpec"], *spec["workerGroupSpecs"]]
    assert all(isinstance(value, str) for group in groups for value in group["rayStartParams"].values())
    for group in groups:
        pod = group["template"]["spec"]
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        for container in pod["containers"]:
            assert container["image"] and container["securityContext"]["seccompProfile"] == {"type": "Unconfined"}
            assert {mount["name"] for mount in container["volumeMounts"]} <= volumes.keys()
            limits, requests = container["resources"]["limits"], container["resources"]["requests"]
            assert limits["memory"] == requests["memory"]
            # An extended resource is not overcommitted: Kubernetes refuses a request that is not the limit.
            assert limits.get("nvidia.com/gpu") == requests.get("nvidia.com/gpu")
        claims = [v["persistentVolumeClaim"]["claimName"] for v in volumes.values() if "persistentVolumeClaim" in v]
        assert set(claims) <= {claim["metadata"]["name"]}
    for group in spec["workerGroupSpecs"]:
        assert group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]


PROGRAMS = {
    "srun": 'echo "srun $*" >> "$LOG"; echo "token $RAY_AUTH_MODE $RAY_AUTH_TOKEN" >> "$LOG"; case "$*" in *hostname*) echo 10.0.0.1;; esac',
    "scontrol": "printf 'node-a\\nnode-b\\n'",
    "sleep": "exit 0",
}
# A shell could not catch the interrupt: jobs of a script in the background ignore it until they set a handler, as the command does.
DRIVER = """#!{python}
import os, signal, sys, time
def stop(*_):
    open(os.environ["LOG"], "a").write("stopped\\n")
    sys.exit(130)
signal.signal(signal.SIGINT, stop)
open(os.environ["LOG"], "a").write("passnet " + " ".join(sys.argv[1:]) + "\\n")
signal.alarm(120)
while True:
    # Not `pause`: a signal that comes just before it would go unseen until the next one.
    time.sleep(0.05)
"""


def test_the_slurm_job_starts_ray_and_passes_the_interrupt_on(tmp_path):
    programs, log = tmp_path / "venv/bin", tmp_path / "log"
    programs.mkdir(parents=True)
    (programs / "activate").write_text(f'PATH="{programs}:$PATH"\n')
    for name, text in PROGRAMS.items():
        (programs / name).write_text(f"#!/bin/bash\n{text}\n")
        (programs / name).chmod(0o755)
    (programs / "passnet").write_text(DRIVER.format(python=sys.executable))
    (programs / "passnet").chmod(0o755)
    variables = {"PASSNET_VENV": str(tmp_path / "venv"), "LOG": str(log)}
    variables |= {"SLURM_JOB_ID": "12345", "SLURM_JOB_NODELIST": "node-[a-b]", "SLURM_NNODES": "2"}
    command = ["bash", str(FILES / "slurm.sh"), "SUITE", "--author", "fuse"]
    # bash cannot trap a signal that it inherits as ignored, as a shell in the background makes it.
    listen = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(command, env=os.environ | variables, preexec_fn=listen) as job:
        end = time.monotonic() + 60
        while "passnet" not in (log.read_text() if log.exists() else "") and time.monotonic() < end:
            time.sleep(0.05)
        # bash can miss a signal that comes just before its `wait`, and would see it at the next one.
        for _ in range(10):
            job.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                job.wait(5)
                break
        assert job.wait(60) == 130
    lines = log.read_text().splitlines()
    port = 20000 + 12345
    assert f"passnet fleet run SUITE --author fuse --address 10.0.0.1:{port}" in lines and lines[-1] == "stopped"
    # All steps of the job have the same token, and it is in no command line.
    [token] = {line for line in lines if line.startswith("token ")}
    assert len(token.split()) == 3 and len(token.split()[2]) == 64
    assert sum(token.split()[2] in line for line in lines) == lines.count(token)
    started = [line for line in lines if " ray start " in line]
    assert len(started) == 2 and all(line.endswith("--block") for line in started)
    assert any(f"--head --node-ip-address=10.0.0.1 --port={port}" in line for line in started)
