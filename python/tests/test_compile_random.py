"""A random module of `fuzz/modules.py`, and threads: compiled calls are those of eager mode in all that a caller may observe."""

from __future__ import annotations

import importlib
import threading
from pathlib import Path

import pytest
import torch

import passnet
import passnet.backend

_FUZZ = Path(__file__).parents[2] / "fuzz"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("how", "seed"),
    # The third to fifth have batch normalisation of transposed rows, whose strides are not those that PyTorch records: in training, as
    # a result of a step, and as a result of the backend. In the last one, a pass that leaves out a write which nothing reads also matches a
    # write to an argument.
    [
        pytest.param("compile", 1, marks=pytest.mark.long),
        *(("static", 1), ("unverified", 77300035), ("unverified", 21546058), ("unverified", 22146019)),
        ("unverified", 999075003),
    ],
)
def test_random_modules(how: str, seed: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(_FUZZ))
    modules = importlib.import_module("modules")
    assert list(modules.findings(seed, 8, [how])) == []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("how", ["compile", "backend"])
def test_four_threads_with_sizes_of_their_own(how: str):
    torch._dynamo.reset()
    passnet.backend.register()
    model = torch.nn.Sequential(
        torch.nn.Linear(16, 16), torch.nn.GELU(), torch.nn.LayerNorm(16), torch.nn.SiLU()
    ).eval()
    compiled = passnet.compile(model) if how == "compile" else torch.compile(model, backend="passnet")
    start, faults = threading.Barrier(4), []

    def calls(rows: int) -> None:
        x = torch.randn(rows, 16, generator=torch.Generator().manual_seed(rows))
        try:
            with torch.no_grad():
                expected = model(x)
                start.wait()
                for _ in range(30):
                    torch.testing.assert_close(compiled(x), expected, rtol=1e-4, atol=1e-5)
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=calls, args=(rows,)) for rows in (3, 5, 64, 200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
