"""Variants of models: dtype and batch."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from passnet import _zoo

MODEL = """\
import torch


def make():
    return torch.nn.Linear(4, 3), (torch.randn(2, 4), torch.tensor([1, 2]), torch.tensor(0.5)), {"mask": torch.ones(2, 1)}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    return path


def built(spec: str) -> tuple[_zoo.Recipe, _zoo.BuiltModel, _zoo.Call]:
    (recipe,) = _zoo.resolve(spec)
    model = recipe.build(_zoo.BuildOptions(1e9))
    (call,) = model.calls
    return recipe, model, call


def test_weights_and_inputs_change_together(file: Path) -> None:
    recipe, made, call = built(f"{file}:make@dtype=bfloat16&batch=5")
    assert recipe.name == "model/make-bfloat16-batch5" and recipe.spec.endswith("@dtype=bfloat16&batch=5")
    assert made.model.weight.dtype == torch.bfloat16
    x, ids, scale = call.args
    assert (x.shape, x.dtype) == ((5, 4), torch.bfloat16)
    assert ids.tolist() == [1, 2, 1, 2, 1] and ids.dtype == torch.int64
    assert scale.shape == () and call.kwargs["mask"].shape == (5, 1)
    assert made.metadata["variant"] == {"dtype": "bfloat16", "batch": 5}


def test_a_smaller_batch_takes_the_first_examples(file: Path) -> None:
    _, _, call = built(f"{file}:make@batch=1")
    assert call.args[0].shape == (1, 4) and call.args[0].dtype == torch.float32


@pytest.mark.parametrize(
    ("suffix", "part"), [("dtype=int8", "no dtype `int8`"), ("batch=0", "a batch is"), ("batch=x", "a batch is")]
)
def test_bad_variants_are_named(file: Path, suffix: str, part: str) -> None:
    with pytest.raises(_zoo.SpecError, match=part):
        list(_zoo.resolve(f"{file}:make@{suffix}"))


def test_each_configuration_has_a_folder_of_its_own() -> None:
    pytest.importorskip("transformers")
    specs = ["", "?num_hidden_layers=1", "?num_hidden_layers=2", "?hidden_act='a/b'", "?hidden_act='a b'"]
    names = [recipe.name for spec in specs for recipe in _zoo.resolve(f"transformers:bert{spec}")]
    assert names[0] == "transformers/bert" and len(set(names)) == len(specs)
    assert all(name.count("/") == 1 for name in names), names
