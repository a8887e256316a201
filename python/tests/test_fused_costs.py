"""Predicted times of the built-in author: `benches/rates.py` computes the same ones, and its fit finds known constants."""

from __future__ import annotations

import copy
import importlib.util
import json
import math
import random

import pytest

from agent_command import ROOT, passnet

_SPEC = importlib.util.spec_from_file_location("rates", ROOT / "benches/rates.py")
assert _SPEC is not None and _SPEC.loader is not None
rates = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(rates)

TASKS = ["--filter", "gpt2", "--filter", "llama", "--filter", "wav2vec2"]
WORK = ("bytes", "elements", "half_elements", "functions", "windows", "half_products", "products", "convolutions")


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_both_formulas_agree(device):
    costs = json.loads(passnet("fuse", "suites/demo", *TASKS, "--device", device, "--explain", "--json"))
    parts = [part for task in costs["tasks"] for part in task["parts"]]
    assert len(parts) > 10
    for part in parts:
        for side in rates.SIDES:
            assert abs(rates.predicted(costs["rates"], side, part[side]) - part[f"{side}_ns"]) <= 1, part
            assert part[f"{side}_ns"] > 0


def test_the_fit_finds_constants():
    side = {
        "begin_ns": 0.0,
        "call_ns": 5000.0,
        "convolution_ns": 0.0,
        "view_ns": 1000.0,
        "tensor_ns": 0.0,
        "byte_ns": 1 / 2000,
        **dict.fromkeys(["element_ns", "half_element_ns", "function_ns", "window_ns"], 0.0),
        "half_product_ns": 1e-5,
        "product_ns": 1e-4,
    }
    fused = {**side, "begin_ns": 1000.0, "tensor_ns": 500.0, "call_ns": 4000.0}
    true = {"eager": side, "fused": fused, "wait_ns": 6000.0, "far_byte_ns": 0.0, "overlaps": True}
    assumed = copy.deepcopy(true)
    assumed["eager"] |= {"call_ns": 9000.0, "byte_ns": 1 / 700}
    assumed["fused"] |= {"call_ns": 2500.0, "tensor_ns": 900.0}
    assumed["wait_ns"] = 3000.0
    chance = random.Random(0)

    def measured_costs() -> dict:
        call = lambda: {**dict.fromkeys(WORK, 0), "bytes": int(10 ** chance.uniform(3, 8))}  # noqa: E731
        return {"views": chance.randrange(4), "tensors": 0, "calls": [call() for _ in range(chance.randrange(1, 6))]}

    rows = []
    for _ in range(120):
        row: dict = {"eager": measured_costs(), "fused": measured_costs()}
        row["fused"]["tensors"] = chance.randrange(1, 4)
        for name in rates.SIDES:
            row[f"measured_{name}_ns"] = rates.predicted(true, name, row[name]) * math.exp(chance.gauss(0, 0.02))
        rows.append(row)
    found = rates.fitted(assumed, rows)
    for name, constant in (("eager", "call_ns"), ("eager", "byte_ns"), ("fused", "call_ns")):
        assert found[name][constant] == pytest.approx(true[name][constant], rel=0.15), found
    off = [
        abs(math.log(rates.predicted(found, name, row[name]) / row[f"measured_{name}_ns"]))
        for row in rows
        for name in rates.SIDES
    ]
    assert sorted(off)[len(off) // 2] < 0.03
