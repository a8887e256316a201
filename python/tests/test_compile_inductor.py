"""TorchInductor compiles the operations that no pass replaces; replacements are operators to it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

import passnet
import passnet.backend
from compiling import newer
from passnet._backend.stopwatch import Comparison
from passnet._compile import build

passnet.backend.register()


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.wide = torch.nn.LayerNorm(32), torch.nn.Linear(32, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.wide(self.norm(x))
        return torch.softmax(y * torch.sigmoid(y) + 1, -1).topk(3)[0] * 2


@pytest.fixture(autouse=True)
def never_slower(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("passnet._compile.build", "passnet._backend.regions"):
        monkeypatch.setattr(f"{name}.compare_times", lambda *_, **__: Comparison((2.0,), (1.0,)))


def model() -> tuple[Model, torch.Tensor]:
    torch.manual_seed(0)
    return Model().eval(), torch.randn(8, 32)


def operators(function, *args: torch.Tensor) -> set[str]:
    with profile(activities=[ProfilerActivity.CPU]) as found:
        function(*args)
    return {event.key for event in found.key_averages() if event.key.startswith("passnet_region::")}


def test_regions_are_operators_of_compiled_code():
    owner, x = model()
    compiled = passnet.compile(owner, then="inductor")
    with torch.no_grad():
        for _ in range(3):
            torch.testing.assert_close(compiled(x), owner(x), rtol=1e-4, atol=1e-5)
        assert operators(compiled, x)
    (note,) = [note for note in compiled.report().specialisations[0].notes if "TorchInductor" in note]
    assert note.startswith("TorchInductor compiles what ") and "what 0 regions" not in note


def test_torch_compile_takes_the_option():
    owner, x = model()
    compiled = torch.compile(owner, backend="passnet", options={"then": "inductor"})
    with torch.no_grad():
        for _ in range(3):
            torch.testing.assert_close(compiled(x), owner(x), rtol=1e-4, atol=1e-5)
        assert operators(compiled, x)
    x.requires_grad_()
    compiled(x).sum().backward()
    ours, x.grad = x.grad, None
    owner(x).sum().backward()
    torch.testing.assert_close(ours, x.grad, rtol=1e-4, atol=1e-5)


def test_other_compilers_are_refused():
    owner, x = model()
    with pytest.raises(ValueError, match="use 'inductor' or None"):
        passnet.compile(owner, then="tvm")
    with pytest.raises(Exception, match="use 'inductor' or None"):
        torch.compile(owner, backend="passnet", options={"then": "tvm"})(x)


def test_wrong_code_of_the_compiler_is_not_used(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(build, "compile_rest", lambda module, *_: (lambda *given: (module(*given)[0] + 1,), 1))
    owner, x = model()
    compiled = passnet.compile(owner, then="inductor")
    with torch.no_grad():
        for _ in range(2):
            torch.testing.assert_close(compiled(x), owner(x), rtol=1e-4, atol=1e-5)
    assert any("is not used: values differ" in note for note in compiled.report().specialisations[0].notes)


@newer("the cache of TorchInductor does not know the passes")
@pytest.mark.long
def test_another_process_finds_the_code_and_the_operators(tmp_path):
    """The hook has a stable identity: TorchInductor finds its code again, which calls operators that are there."""
    program = textwrap.dedent(
        """
        import torch, passnet
        from torch._dynamo.utils import counters
        from test_compile_inductor import model, operators
        owner, x = model()
        compiled = passnet.compile(owner, then="inductor", verify=False)
        with torch.no_grad():
            compiled(x)
            torch.testing.assert_close(compiled(x), owner(x), rtol=1e-4, atol=1e-5)
            print(sorted(operators(compiled, x)), counters["inductor"]["fxgraph_cache_hit"])
        """
    )
    here = os.path.dirname(__file__)
    path = os.pathsep.join([here, os.path.dirname(here), os.environ.get("PYTHONPATH", "")])
    variables = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "inductor"), "PASSNET_CACHE": str(tmp_path / "passnet")}
    environment = {**os.environ, **variables, "PYTHONPATH": path}
    lines = [
        subprocess.run(
            [sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True
        ).stdout
        for _ in range(2)
    ]
    first, second = (line.strip().rsplit(" ", 1) for line in lines)
    assert first[0] == second[0] and "passnet_region" in first[0]
    assert (first[1], second[1]) == ("0", "1")
