"""Triton is made ready in threads of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from passnet._backend import triton_ready

_ON_GPU = """
import torch, passnet
from passnet._backend import triton_ready
from triton.runtime.cache import triton_key

model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.LayerNorm(64)).cuda()
with torch.no_grad():
    x = torch.randn(8, 64, device="cuda")
    torch.testing.assert_close(passnet.compile(model)(x), model(x), rtol=1e-4, atol=1e-5)
triton_ready.wait()
assert triton_key.cache_info().currsize == 1
assert not any(thread.is_alive() for thread in triton_ready._threads)
print("done")
"""


def test_a_process_without_a_gpu_starts_no_thread(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(triton_ready, "_threads", [])
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: False)
    triton_ready.begin()
    assert triton_ready._threads == []
    triton_ready.wait()


def test_a_version_of_triton_with_other_names_is_left_alone(monkeypatch: pytest.MonkeyPatch):
    steps = []
    monkeypatch.setattr(triton_ready.importlib, "import_module", lambda name: steps.append(name))
    triton_ready._prepare(triton_ready._hash, triton_ready._link, triton_ready._import)
    assert len(steps) == 3, "the others follow after one that failed"


def test_the_threads_start_once_and_end(monkeypatch: pytest.MonkeyPatch):
    done = []
    monkeypatch.setattr(triton_ready, "_threads", [])
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    for step in ("_hash", "_link", "_import"):
        monkeypatch.setattr(triton_ready, step, lambda step=step: done.append(step))
    triton_ready.begin()
    triton_ready.begin()
    triton_ready.wait()
    assert sorted(done) == ["_hash", "_import", "_link"]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_the_threads_have_ended_when_kernels_are_compiled():
    run = subprocess.run([sys.executable, "-c", _ON_GPU], capture_output=True, text=True, check=False)
    assert run.stdout.endswith("done\n"), run.stderr
