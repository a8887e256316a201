"""Pass directories: every form that is documented, and the result of a pattern that does not match."""

from __future__ import annotations

import os
import py_compile
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.fx
import torch.nn.functional as F

from passnet._passes.errors import PassError
from passnet._passes.load import PassDirectory
from passnet._passes.rewrite import Rewriting, rewrite
from passnet._passes.trace import trace_pattern as trace
from passnet._worker.errors import describe

ADD_RELU = """
import torch

def pattern(x, y):
    return torch.nn.functional.relu(x + y)

def replacement_args(x, y):
    return (x, y)

def add_relu(x, y):
    return torch.clamp(torch.add(x, y), min=0)

def replacement_func():
    return add_relu
"""

WritePasses = Callable[..., Path]


def one_pass(pattern: str, arguments: str = "x", call: str = "x.clone()") -> str:
    """Source of a pass; `pattern` is the body's last line."""
    return (
        "import operator\nimport torch\nimport torch.nn.functional as F\n\n"
        f"def pattern({arguments}):\n    {pattern}\n\n"
        f"def replacement_args({arguments}):\n    return ({arguments},)\n\n"
        f"def replaced({arguments}):\n    return {call}\n\n"
        "def replacement_func():\n    return replaced\n"
    )


def apply(directory: Path, function: Callable[..., object]) -> Rewriting:
    module = torch.fx.GraphModule(torch.nn.Module(), trace(function))
    return rewrite(module, PassDirectory.load(directory).passes)


def counts(rewriting: Rewriting) -> dict[str, int]:
    return {report.name: report.matches for report in rewriting.passes}


def test_all_matches_are_replaced_also_where_they_touch(write_passes: WritePasses):
    def model(a: torch.Tensor, b: torch.Tensor) -> tuple:
        c = F.relu(a + b)
        d = F.relu(input=c + a, inplace=False)
        return F.relu(b + d), c

    rewriting = apply(write_passes(add_relu=ADD_RELU), model)
    assert counts(rewriting) == {"add_relu": 3}
    assert "relu(" not in rewriting.module.code.replace("add_relu(", "")
    a, b = torch.randn(8), torch.randn(8)
    torch.testing.assert_close(rewriting.module(a, b), model(a, b))


def test_a_pass_that_cannot_be_applied_is_noted_and_the_next_one_follows(write_passes: WritePasses):
    # A graph cannot hold a generator, which only the arguments of a place show.
    strange = ADD_RELU.replace("return (x, y)", "return (x, y, torch.Generator())").replace("x + y", "x - y")
    passes = PassDirectory.load(write_passes(add_relu=ADD_RELU, strange=strange)).passes
    module = torch.fx.GraphModule(torch.nn.Module(), trace(lambda a, b: (F.relu(a - b), F.relu(a + b))))
    ordered = sorted(passes, key=lambda rule: rule.name, reverse=True)
    faults: list[str] = []
    rewriting = rewrite(module, ordered, faults)
    assert counts(rewriting) == {"add_relu": 1}
    assert len(faults) == 1 and "strange" in faults[0] and "cannot hold" in faults[0]
    a, b = torch.randn(8), torch.randn(8)
    torch.testing.assert_close(rewriting.module(a, b), (F.relu(a - b), F.relu(a + b)))
    with pytest.raises(PassError, match="cannot hold"):
        rewrite(torch.fx.GraphModule(torch.nn.Module(), trace(lambda a, b: (F.relu(a - b),))), ordered)


@pytest.mark.parametrize(
    ("pattern", "call"),
    [
        ("F.relu(x)", lambda x: F.relu(x, inplace=False)),
        ("F.relu(x, inplace=True)", lambda x: F.relu(x, True)),
        ("torch.nn.functional.softmax(x, 1)", lambda x: F.softmax(x, dim=1, _stacklevel=3, dtype=None)),
        ("torch.nn.functional.gelu(x)", lambda x: torch._C._nn.gelu(x, approximate="none")),
        ("x == 0", lambda x: x.tracer.create_proxy("call_method", "__eq__", (x, 0), {})),
        ("x.view(2, -1)", lambda x: x.view((2, -1))),
        ("x.view(size=(2, -1))", lambda x: x.view([2, -1])),
        ("x.permute(1, 0)", lambda x: x.permute([1, 0])),
        ("x.expand(3, 4, 5)", lambda x: x.expand((3, 4, 5))),
        ("x.sum(1)", lambda x: x.sum(dim=(1,), keepdim=False)),
        ("torch.sum(x, axis=1, keepdims=True)", lambda x: torch.sum(input=x, dim=[1], keepdim=True)),
        ("torch.max(x, 1)[0]", lambda x: torch.max(x, dim=1, keepdim=False)[0]),
        ("x.softmax(-1)", lambda x: x.softmax(dim=-1, dtype=None)),
        ("x.to(torch.float64)", lambda x: x.to(dtype=torch.float64, copy=False)),
        ("x.transpose(0, 1).contiguous()", lambda x: x.transpose(dim0=0, dim1=1).contiguous()),
        ("torch.split(x, 2, dim=1)[1]", lambda x: torch.functional.split(x, 2, 1)[1]),
        ("F.max_pool2d(x, 2)", lambda x: F.max_pool2d(x, 2, stride=None, padding=0)),
        ("F.pad(x, (1, 1))", lambda x: F.pad(x, [1, 1], mode="constant", value=None)),
        ("F.sigmoid(x)", lambda x: F.sigmoid(input=x)),
        ("torch.arange(3) + x", lambda x: torch.arange(end=3, dtype=None) + x),
        ("x.mean((2, 3), keepdim=True)", lambda x: x.mean(dim=[2, 3], keepdim=True)),
        ("torch.cat((x, x), -1)", lambda x: torch.cat([x, x], dim=-1)),
        ("torch.layer_norm(x, (4,), eps=1)", lambda x: torch.layer_norm(x, [4], None, None, 1.0)),
        ("F.dropout(x, 0.1, training=False)", lambda x: F.dropout(x, p=0.1, training=False, inplace=False)),
    ],
)
def test_one_meaning_matches_however_it_is_written(write_passes: WritePasses, pattern: str, call: Callable):
    directory = write_passes(rule=one_pass(f"return {pattern}"))
    rewriting = apply(directory, lambda x: (call(x),))
    assert counts(rewriting) == {"rule": 1}, rewriting.passes


@pytest.mark.parametrize(
    ("pattern", "call", "what"),
    [
        ("F.relu(x)", lambda x: F.relu(x, inplace=True), "argument"),
        ("F.relu(x)", lambda x: torch.relu(x), "target"),
        ("x * 2", lambda x: x * 3, "argument"),
        ("x[0, 1]", lambda x: x[[0, 1]], "argument"),
        ("x + 1", lambda x: operator_iadd(x), "target"),
        ("(x + 1) * 2", lambda x: ((y := x + 1) * 2, y), "escape"),
    ],
)
def test_another_meaning_does_not_match_and_says_why(
    write_passes: WritePasses, pattern: str, call: Callable, what: str
):
    (report,) = apply(write_passes(rule=one_pass(f"return {pattern}")), lambda x: (call(x),)).passes
    assert report.matches == 0
    assert report.nearest is not None
    assert report.nearest["what"] == what
    assert report.nearest["expected"] != report.nearest["found"]


def operator_iadd(x: torch.Tensor) -> torch.Tensor:
    x += 1
    return x


def test_in_place_operators_and_item_assignment_are_patterns(write_passes: WritePasses):
    def model(x: torch.Tensor) -> tuple:
        y = x.clone()
        y += 1
        y[0] = 5
        return (y * 2,)

    source = one_pass(
        "y = x.clone(); y += 1; y[0] = 5; return y * 2", call="torch.cat([x.new_tensor([10]), x[1:] * 2 + 2])"
    )
    rewriting = apply(write_passes(rule=source), model)
    x = torch.arange(4.0)
    torch.testing.assert_close(rewriting.module(x), model(x))
    assert counts(rewriting) == {"rule": 1}, rewriting.passes


@pytest.mark.parametrize("brackets", ["({})", "[{}]"])
def test_several_outputs(write_passes: WritePasses, brackets: str):
    source = one_pass(
        f"a = x + y; b = a.relu(); return {brackets.format('b, a')}",
        arguments="x, y",
        call="(torch.relu(x + y), x + y)",
    )

    def model(x: torch.Tensor) -> tuple:
        a = x + x
        b = a.relu()
        return a - b, b

    rewriting = apply(write_passes(rule=source), model)
    assert counts(rewriting) == {"rule": 1}
    x = torch.randn(5)
    torch.testing.assert_close(rewriting.module(x), model(x))


@pytest.mark.parametrize("result", ["x * 2", "(x * 2,)"])
def test_a_tuple_of_one_takes_a_bare_result_too(write_passes: WritePasses, result: str):
    rewriting = apply(write_passes(rule=one_pass("return (x + x,)", call=result)), lambda x: (x + x,))
    x = torch.randn(5, 5)
    torch.testing.assert_close(rewriting.module(x), (x * 2,))


def test_arguments_go_by_name_else_by_position(write_passes: WritePasses):
    by_name = ADD_RELU.replace("replacement_args(x, y)", "replacement_args(y, *, x)")
    by_position = ADD_RELU.replace(
        "replacement_args(x, y):\n    return (x, y)", "replacement_args(p, q):\n    return [p, q, 3]"
    )
    by_position = by_position.replace("(x + y)", "(x - y)").replace("add_relu(x, y)", "add_relu(x, y, z)")

    def model(a: torch.Tensor, b: torch.Tensor) -> tuple:
        return F.relu(a + b), F.relu(a - b)

    rewriting = apply(write_passes(by_name=by_name, by_position=by_position), model)
    assert counts(rewriting) == {"by_name": 1, "by_position": 1}
    assert "add_relu(a, b, 3)" in rewriting.module.code


def test_a_parameter_may_stand_for_a_constant(write_passes: WritePasses):
    source = one_pass("return F.layer_norm(x, s, eps=e)", arguments="x, s, e", call="F.layer_norm(x, s, eps=e)")
    rewriting = apply(write_passes(rule=source), lambda x: (F.layer_norm(x, (4,), eps=1e-3),))
    assert counts(rewriting) == {"rule": 1}, rewriting.passes
    x = torch.randn(3, 4)
    torch.testing.assert_close(rewriting.module(x), (F.layer_norm(x, (4,), eps=1e-3),))


def test_a_parameter_may_stand_for_an_index(write_passes: WritePasses):
    source = one_pass("return x[i]", arguments="x, i", call="x[i].clone()")
    rewriting = apply(write_passes(rule=source), lambda x: (x[[0, 1]], x[1, [0, 2]], x[0, 1:]))
    assert counts(rewriting) == {"rule": 3}
    x = torch.randn(3, 4)
    torch.testing.assert_close(rewriting.module(x), (x[[0, 1]], x[1, [0, 2]], x[0, 1:]))


def test_passes_share_helpers_and_run_in_the_given_order(write_passes: WritePasses):
    first = """
    import torch
    import helper

    def pattern(x):
        return x.neg()

    def replacement_args(x):
        return (x, "neg")

    def replacement_func():
        return helper.dispatch
    """
    second = first.replace("import helper", "from pass_dir import helper").replace("neg", "abs")
    third = first.replace("import helper", "from . import helper").replace("neg", "exp")
    helper = "def dispatch(x, route):\n    return getattr(x, route)()\n"
    order = ["third", "first", "second"]
    directory = write_passes(order, first=first, second=second, third=third, helper=helper)
    rewriting = apply(directory, lambda x: (x.neg().abs().exp(),))
    assert list(counts(rewriting).items()) == [("third", 1), ("first", 1), ("second", 1)]
    x = torch.randn(4)
    torch.testing.assert_close(rewriting.module(x), (x.neg().abs().exp(),))


def test_helpers_of_two_directories_do_not_mix(tmp_path: Path):
    for number in (1, 2):
        root = tmp_path / str(number)
        root.mkdir()
        (root / "helper.py").write_text(f"def run(x):\n    return {number}\n")
        (root / "rule.py").write_text(one_pass("return x.neg()").replace("import operator", "import helper\n") + "\n")
        (root / "rule.py").write_text((root / "rule.py").read_text().replace("return replaced", "return helper.run"))
        (root / "sorted_output_pass_rule_names.json").write_text('["rule"]')
    results = [PassDirectory.load(tmp_path / str(number)).passes[0].replacement(None) for number in (1, 2, 1)]
    assert results == [1, 2, 1]


def test_a_helper_cannot_stand_in_for_an_installed_module(write_passes: WritePasses):
    source = "import numpy\n" + one_pass("return x.neg()").replace("x.clone()", "numpy.__version__")
    directory = write_passes(["rule"], rule=source, numpy="__version__ = 'fake'")
    with pytest.raises(PassError, match=r"`import numpy` in `rule.py` finds an installed module, not `numpy.py`"):
        PassDirectory.load(directory)
    (directory / "rule.py").write_text(
        (directory / "rule.py").read_text().replace("import numpy", "from . import numpy")
    )
    assert PassDirectory.load(directory).passes[0].replacement(None) == "fake"


def test_computing_in_replacement_args_is_noted(write_passes: WritePasses):
    source = ADD_RELU.replace("return (x, y)", "return (torch.matmul(x, y), y.neg())")
    rewriting = apply(write_passes(rule=source), lambda a, b: (F.relu(a + b),))
    assert rewriting.notes == ["computes_in_args:rule:neg", "computes_in_args:rule:torch.matmul"]


def test_a_replacement_that_bears_the_name_of_a_library_function_is_called_itself(write_passes: WritePasses):
    """FX writes such functions by name, and the generated code would call the library's."""
    source = ADD_RELU.replace(
        "def replacement_func():",
        "add_relu.__module__, add_relu.__name__ = 'torch', 'add'\n\ndef replacement_func():",
    )
    rewriting = apply(write_passes(rule=source), lambda a, b: (F.relu(a + b),))
    assert counts(rewriting) == {"rule": 1}
    x = torch.tensor([-2.0, 1.0])
    assert torch.equal(rewriting.module(x, x)[0], torch.tensor([0.0, 2.0])), rewriting.module.code


def test_wrapped_functions_keep_their_identity(write_passes: WritePasses):
    first = ADD_RELU
    second = """
    import torch
    from add_relu import add_relu
    torch.fx.wrap("add_relu")

    def pattern(x, y):
        return add_relu(x, y).neg()

    def replacement_args(x, y):
        return (x, y)

    def both(x, y):
        return -torch.relu(x + y)

    def replacement_func():
        return both
    """
    first = first.replace("import torch\n", "import torch\nfrom shared import add_relu\n", 1)
    first = first.replace("def add_relu(x, y):\n    return torch.clamp(torch.add(x, y), min=0)\n", "")
    shared = "import torch\n\ndef add_relu(x, y):\n    return torch.clamp(torch.add(x, y), min=0)\n"
    directory = write_passes(
        ["first", "second"], first=first, second=second.replace("from add_relu", "from shared"), shared=shared
    )
    rewriting = apply(directory, lambda a, b: (F.relu(a + b).neg(),))
    assert counts(rewriting) == {"first": 1, "second": 1}, rewriting.passes


@pytest.mark.parametrize(
    ("source", "exception", "message"),
    [
        ("def pattern(x:\n", "SyntaxError", "line 1"),
        ("import sys; sys.exit(3)", "SystemExit", "3"),
        ("import no_such_module", "ModuleNotFoundError", "no_such_module"),
        ("from . import rule", "PassError", "no function `pattern`"),
        ("pattern = replacement_args = replacement_func = 1", "PassError", "no function `pattern`"),
        (ADD_RELU.replace("def replacement_func", "def func"), "PassError", "no function `replacement_func`"),
        (ADD_RELU.replace("return add_relu", "return lambda x, y: x"), "PassError", "the same object each time"),
        (ADD_RELU.replace("return add_relu", "return 3"), "PassError", "not a `int`"),
        (one_pass("return x if x.sum() > 0 else -x"), "TraceError", "control flow"),
        (one_pass("return x"), "PassError", "must return what it computes"),
        (one_pass("return y.neg()"), "NameError", "`y`|'y'"),
        (one_pass("return x.neg()", arguments="x, y"), "PassError", "does not use its parameter `y`"),
        (one_pass("pass"), "PassError", "must return what it computes"),
        ("def f(): f()\nf()", "RecursionError", "recursion"),
    ],
)
def test_broken_passes_are_typed_errors(write_passes: WritePasses, source: str, exception: str, message: str):
    with pytest.raises(PassError) as caught:
        PassDirectory.load(write_passes(rule=source))
    failed = describe(caught.value, "load")
    assert (failed["stage"], failed["pass"], failed["exception"]) == ("import", "rule", exception), failed
    assert caught.match("rule")
    assert re.search(message, failed["message"]), failed["message"]
    assert "passnet/_passes/" not in failed["traceback"]


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (None, "cannot read"),
        ("{", "not JSON"),
        ('{"rule": 1}', "must be a list"),
        ('["../rule"]', "not the stem"),
        ('["absent"]', "no `absent.py`"),
    ],
)
def test_broken_order_files_are_typed_errors(write_passes: WritePasses, order: str | None, message: str):
    directory = write_passes(rule=ADD_RELU)
    file = directory / "sorted_output_pass_rule_names.json"
    file.unlink()
    if order is not None:
        file.write_text(order)
    with pytest.raises(PassError, match=message):
        PassDirectory.load(directory)


def test_bad_replacement_args_are_typed_errors(write_passes: WritePasses):
    for body, message in (
        ("return x.no_such()(", "import"),
        ("raise ValueError('no')", "failed"),
        ("return object()", "hold"),
    ):
        directory = write_passes(rule=ADD_RELU.replace("return (x, y)", body))
        with pytest.raises(PassError, match=message):
            apply(directory, lambda a, b: (F.relu(a + b),))
        for file in directory.iterdir():
            file.unlink()
        directory.rmdir()


def test_sources_run_and_no_bytecode_is_read_or_left(write_passes: WritePasses):
    directory = write_passes(["rule"], rule=one_pass("return x.neg()", call="x + 1"))
    file = directory / "rule.py"
    times = file.stat()
    assert PassDirectory.load(directory).passes[0].replacement(1) == 2
    assert not (directory / "__pycache__").exists()
    # Python takes bytecode for current if the time and the size of its source are: a quick edit has both.
    py_compile.compile(str(file))
    file.write_text(file.read_text().replace("x + 1", "x + 2"))
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert PassDirectory.load(directory).passes[0].replacement(1) == 3
    # Bytecode without a source is not a module of the directory.
    (directory / "helper.pyc").write_bytes((next((directory / "__pycache__").iterdir())).read_bytes())
    file.write_text("from . import helper\n" + file.read_text())
    with pytest.raises(PassError, match="cannot be imported"):
        PassDirectory.load(directory)
