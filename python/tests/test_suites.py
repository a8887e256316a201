"""The published suites, as the libraries of their readers see them."""

from __future__ import annotations

from pathlib import Path

import pytest

SUITES = sorted(Path(__file__).parents[2].glob("suites/passbench-*"))


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_pyarrow_reads_every_table(suite: Path):
    parquet = pytest.importorskip("pyarrow.parquet")
    tasks = parquet.read_table(suite / "tasks").to_pydict()
    subgraphs = parquet.read_table(suite / "subgraphs").to_pydict()
    assert {graph for graphs in tasks["graphs"] for graph in graphs} == set(subgraphs["path"])
    assert all("def forward" in source for source in subgraphs["model_py"])


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_datasets_loads_a_folder_by_the_names_of_its_tables(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    tasks = datasets.load_dataset(str(suite), "tasks", split="train", cache_dir=str(tmp_path))
    subgraphs = datasets.load_dataset(str(suite), "subgraphs", split="train", streaming=True)
    assert sum(len(graphs) for graphs in tasks["graphs"]) == sum(1 for _ in subgraphs)
