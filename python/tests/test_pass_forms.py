"""Forms of a pass besides three functions: methods as replacements, and patterns that are lambdas."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from passnet._passes.errors import PassError
from passnet._passes.load import PassDirectory
from test_passes import ADD_RELU, WritePasses, apply, counts


@pytest.mark.parametrize("owner", ["Adder", "ADDER"])
def test_methods_are_replacements(write_passes: WritePasses, owner: str):
    """Python makes a new object for each read of a method."""
    methods = """
class Adder:
    @classmethod
    def build(cls, x, y):
        return torch.clamp(torch.add(x, y), min=0)

    def run(self, x, y):
        return self.build(x, y)

ADDER = Adder()

def replacement_func():
"""
    returned = {"Adder": "Adder.build", "ADDER": "ADDER.run"}[owner]
    source = ADD_RELU.replace("def replacement_func():\n    return add_relu", f"{methods}    return {returned}")
    rewriting = apply(write_passes(rule=source), lambda a, b: (F.relu(a + b),))
    assert counts(rewriting) == {"rule": 1}
    x = torch.tensor([-2.0, 1.0])
    assert torch.equal(rewriting.module(x, x)[0], torch.tensor([0.0, 2.0])), rewriting.module.code


def test_methods_of_new_instances_are_no_replacement(write_passes: WritePasses):
    source = (
        ADD_RELU.replace("return add_relu", "return Adder().run")
        + "\nclass Adder:\n    def run(self, x, y):\n        return x\n"
    )
    with pytest.raises(PassError, match="must return the same object each time"):
        PassDirectory.load(write_passes(rule=source))


def test_patterns_may_be_lambdas_that_call_functions(write_passes: WritePasses):
    source = ADD_RELU.replace(
        "def pattern(x, y):\n    return torch.nn.functional.relu(x + y)",
        "def both(x, y):\n    return x + y\n\npattern = lambda x, y: torch.nn.functional.relu(both(x, y))",
    )
    rewriting = apply(write_passes(rule=source), lambda a, b: (F.relu(a + b),))
    assert counts(rewriting) == {"rule": 1}
