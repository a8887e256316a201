"""Objects that a pass may return as its replacement, and the caches that it may use."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.fx

from passnet._monitor import intercept
from passnet._passes.load import PassDirectory
from passnet._passes.rewrite import rewrite
from passnet._passes.trace import trace_pattern as trace

WritePasses = Callable[..., Path]


@pytest.mark.parametrize(
    "decorator", ["lru_cache", "lru_cache()", "lru_cache(maxsize=1)", "lru_cache(2, True)", "cache"]
)
def test_a_cache_of_a_pass_forgets_nothing(write_passes: WritePasses, decorator: str):
    helper = f"import functools\n\n@functools.{decorator}\ndef name(n):\n    return (n,)\n\nFIRST = name(0)\n"
    source = """
    def pattern(x):
        return x.neg()

    def replacement_args(x):
        return (x,)

    def replaced(x):
        from .helper import FIRST, name

        [name(n) for n in range(1, 200)]
        return name(0) is FIRST

    def replacement_func():
        return replaced
    """
    replacement = PassDirectory.load(write_passes(["rule"], rule=source, helper=helper)).passes[0].replacement
    assert [replacement(None), replacement(None)] == [True, True]
    assert (
        functools.lru_cache.__module__ == "functools" and functools.lru_cache(lambda n: n).cache_info().maxsize == 128
    )


@pytest.mark.parametrize(
    "wrapper",
    [
        "functools.partial(run, 1)",
        "lambda x: run(1, x)",
        "Wrapper()",
        "Data()",
        "Layer()",
        "Wrapper.run",
        "Apply.apply",
    ],
)
def test_any_callable_object_can_be_a_replacement(write_passes: WritePasses, wrapper: str):
    source = f"""
    import dataclasses
    import functools

    import torch

    def pattern(x):
        return x.neg()

    def replacement_args(x):
        return (x,)

    def run(n, x):
        return x + n

    class Wrapper:
        def __call__(self, x):
            return run(1, x)

        @staticmethod
        def run(x):
            return run(1, x)

    @dataclasses.dataclass
    class Data(Wrapper):
        n: int = 1

    class Layer(torch.nn.Module):
        def forward(self, x):
            return run(1, x)

    class Apply(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return run(1, x)

    wrapper = {wrapper}

    def replacement_func():
        return wrapper
    """
    module = torch.fx.GraphModule(torch.nn.Module(), trace(lambda x: (x.neg(),)))
    rewriting = rewrite(module, PassDirectory.load(write_passes(rule=source)).passes)
    assert [report.matches for report in rewriting.passes] == [1]
    x = torch.randn(4)
    torch.testing.assert_close(rewriting.module(x), (x + 1,))
    torch.testing.assert_close(rewriting.checked_module(intercept.Watch(operators=True))(x), (x + 1,))


def test_the_lint_knows_all_names_of_modules():
    names = Path(__file__).parents[2] / "crates/passnet-lint/src/names/module.txt"
    # In a process of its own, because other libraries add functions to the class.
    code = "import torch; print(*dir(torch.nn.Module()))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    inherited = {name for name in printed.split() if not name.startswith("__")}
    assert inherited - set(names.read_text().split()) == {"forward"}
