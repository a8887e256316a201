"""Kernels for a GPU that the author writes for `passnet.compile`: an index out of range ends the process, as in PyTorch."""

from __future__ import annotations

import os
import subprocess
import sys
import types

import pytest
import torch
import torch.fx

from authored import texts
from compiling import newer

pytestmark = newer("Triton's interpreter does not take the option `debug`")

pytest.importorskip("triton")

# Three rows of 40: blocks are not full, so that kernels have masks.
TABLE, IDS = (100, 40), (3,)


def _at_given(table, ids, x):
    return table[ids] + x


def _at_computed(table, ids, x):
    return table[ids * 2 - 10] + x


def _not_below_zero(table, ids, x):
    return torch.index_select(table, 0, ids + 1) + x


def _passes(function, judged):
    values = (torch.randn(TABLE), torch.randint(5, 50, IDS), torch.randn(*IDS, TABLE[1]))
    return texts(function, values, "cuda", judged)


# The interpreter is chosen before Triton is imported. One process runs all calls, because the import takes longest.
RUN = """
import sys, torch, types
import triton.language as tl

def device_assert(condition, message):
    # Triton's own is for the code of a device; its interpreter fails at it.
    assert condition.handle.data.all(), message

tl.device_assert = device_assert
text, path, order = sys.stdin.read(), sys.argv[1], sys.argv[3].split(",")
open(path, "w").write(text)
module = types.ModuleType("written")
module.__file__ = path
sys.modules["written"] = module
exec(compile(text, path, "exec"), module.__dict__)
torch.manual_seed(0)
values = {"table": torch.randn(100, 40), "x": torch.randn(3, 40)}
found = []
for ids in eval(sys.argv[2]):
    given = {**values, "ids": torch.tensor(ids)}
    try:
        found.append(module.fused(*[given[name] for name in order]))
    except Exception as error:
        found.append(repr(error))
torch.save((found, values), path + ".pt")
"""


def _run(text, calls, tmp_path, order):
    path = str(tmp_path / "written.py")
    command = [sys.executable, "-c", RUN, path, repr(calls), order]
    run = subprocess.run(
        command, input=text, capture_output=True, text=True, check=False, env={**os.environ, "TRITON_INTERPRET": "1"}
    )
    assert run.returncode == 0, run.stderr
    found, values = torch.load(path + ".pt")
    return found, values["table"], values["x"]


@pytest.mark.parametrize(
    ("function", "good", "bad"),
    [
        (_at_given, [[0, 99, -100], [-1, 5, 7]], [[0, 100, 1], [0, -101, 1]]),
        (_at_computed, [[5, 54, 0], [-45, 20, 30]], [[5, 55, 0], [-46, 20, 30]]),
        (_not_below_zero, [[-1, 98, 4]], [[99, 0, 0], [-2, 0, 0]]),
    ],
)
def test_an_index_out_of_range_is_an_assertion(function, good, bad, tmp_path):
    (text,) = _passes(function, "whole")
    assert _passes(function, "")[0].count("device_assert") == text.count("device_assert") > 0
    assert "debug=True, sanitize_overflow=False" in text
    found, table, x = _run(text, good + bad, tmp_path, _order(text))
    for ids, result in zip(good, found[: len(good)], strict=True):
        torch.testing.assert_close(result, function(table, torch.tensor(ids), x))
    for error in found[len(good) :]:
        assert "index out of range" in str(error), error


def _order(text):
    """Arguments of the pass by their types: the table has the most rows, the indices are integers."""
    module = types.ModuleType("pattern")
    head = text[text.index("def pattern") : text.index("def replacement_args")]
    exec("import torch\n" + head, module.__dict__)
    graph = torch.fx.symbolic_trace(module.pattern)
    names = [node.target for node in graph.graph.nodes if node.op == "placeholder"]
    kinds = text[text.index('"""') : text.index(" -> ")]
    shapes = next(part for part in kinds.splitlines() if part.startswith(("float32[", "int64[")))
    kind = {"float32[100, 40]": "table", "int64[3]": "ids", "float32[3, 40]": "x"}
    parts = [part + "]" for part in shapes.removesuffix("]").split("], ")]
    assert len(parts) == len(names)
    return ",".join(kind[part] for part in parts)


COMPILE = """
import sys, triton, types
from triton.backends.compiler import GPUTarget

text, path, types_of = sys.stdin.read(), sys.argv[1], sys.argv[2].split(",")
open(path, "w").write(text)
module = types.ModuleType("written")
module.__file__ = path
sys.modules["written"] = module
exec(compile(text, path, "exec"), module.__dict__)
kernel = module.kernel0
signature = dict(zip(kernel.arg_names, types_of, strict=True))
source = triton.compiler.ASTSource(fn=kernel, signature=signature, constexprs={})
options = {"num_warps": 4, "debug": True, "sanitize_overflow": False}
print(triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options).asm["ptx"])
"""


def test_the_code_for_a_device_has_the_assertion(tmp_path):
    (text,) = _passes(_at_computed, "whole")
    kinds = ["*i64" if name == "ids" else "*fp32" for name in _order(text).split(",")]
    command = [sys.executable, "-c", COMPILE, str(tmp_path / "written.py"), ",".join([*kinds, "*fp32"])]
    # A separate process: another test may have chosen the interpreter, which holds for the whole process.
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    run = subprocess.run(
        command,
        input=text.replace("@kernels.triton\n", ""),
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert run.returncode == 0, run.stderr
    assert "__assertfail" in run.stdout
