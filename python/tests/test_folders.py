"""Folders of captured models: models that differ never share one, and none is inside another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import passnet
from passnet import _zoo
from passnet._capture.sample import SampleError


def names(*specs: str, ledger: Path = Path("no/such/file")) -> list[str]:
    recipes = [recipe for spec in specs for recipe in _zoo.resolve(spec)]
    return [recipe.name for recipe in _zoo.with_own_folders(recipes, ledger)]


def file(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "models.py"
    path.write_text("import torch\n\n\ndef build():\n    return torch.nn.Linear(2, 2), (torch.randn(3, 2),)\n")
    return path


def test_no_folder_of_a_transformers_model_is_inside_another():
    pytest.importorskip("transformers")
    found = names("transformers:*", "transformers:*/*", "transformers:bert/*?num_hidden_layers=2@batch=2&mode=decode")
    assert len(found) == len(set(found)) > 1000
    assert all(name.count("/") == 1 for name in found)
    assert {"transformers/bert", "transformers/bert-BertForMaskedLM"} <= set(found)


def test_files_of_one_name_have_different_folders(tmp_path):
    first, second = file(tmp_path / "a"), file(tmp_path / "b")
    assert names(f"{first}:build", f"{first}:build@batch=2") == ["models/build", "models/build-batch2"]
    both = names(f"{first}:build", f"{second}:build")
    assert both == names(f"{second}:build", f"{first}:build")[::-1]
    assert len(set(both)) == 2 and all(name.startswith("models-") and name.endswith("/build") for name in both)
    # Two spellings of the same file.
    assert names(f"{first}:build", f"{tmp_path}/b/../a/models.py:build") == ["models/build"]
    library = tmp_path / "timm.py"
    library.write_text("")
    (name,) = names(f"{library}:build")
    assert name.startswith("timm-"), "the folder `timm` is that of the library"


def test_a_file_keeps_its_folder_in_a_directory_with_a_ledger(tmp_path):
    first, second = file(tmp_path / "a"), file(tmp_path / "b")
    ledger = tmp_path / "extract.jsonl"
    lines = [{"model": {"spec": f"{first}:build@batch=2", "folders": ["models/build-batch2"]}}, {"model": {"spec": 1}}]
    ledger.write_text("\n".join(map(json.dumps, lines)) + '\n{"model": {"spec": "x.py:')
    assert names(f"{first}:build", ledger=ledger) == ["models/build"]
    (other,) = names(f"{second}:build", ledger=ledger)
    assert other.startswith("models-")
    assert names(f"{second}:build", f"{first}:build", ledger=ledger) == [other, "models/build"]


@pytest.mark.parametrize("heads_first", [True, False])
def test_a_base_model_and_its_heads_are_written_in_any_order(tmp_path, heads_first):
    models = ["transformers/bert", "transformers/bert-BertForMaskedLM"]
    for name in models[:: -1 if heads_first else 1]:
        passnet.extract(torch.nn.Linear(4, 8), torch.randn(2, 4), out=tmp_path, name=name)
    assert all((tmp_path / name / "model.py").is_file() for name in models)


def test_samples_of_an_earlier_version_inside_a_folder_are_kept(tmp_path):
    model, x = torch.nn.Linear(4, 8), torch.randn(2, 4)
    (head,) = passnet.extract(model, x, out=tmp_path, name="transformers/bert/BertForMaskedLM")
    with pytest.raises(SampleError, match="BertForMaskedLM is a sample of another model"):
        passnet.extract(model, x, out=tmp_path, name="transformers/bert")
    assert (head / "model.py").is_file()
    # Parts of the model itself are replaced.
    passnet.extract(model, x, out=tmp_path, name="own/broken/subgraph_12")
    passnet.extract(model, x, out=tmp_path, name="own/step/train_backward")
    for name in ("own/broken", "own/step"):
        passnet.extract(model, x, out=tmp_path, name=name)
        assert [path.name for path in (tmp_path / name).iterdir() if path.is_dir()] == []
