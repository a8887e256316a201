"""Calls of passes are timed next to the operations that they replace, and wrong ones are found."""

from __future__ import annotations

import torch

from passnet._passes.trace import trace_pattern
from passnet._passes.wire import from_graph
from passnet._services import confirm
from passnet._services.confirm import sample_pairs

META = {"shape": [64, 64], "dtype": "float32", "mean": 0.0, "std": 1.0}


def graph(x, y):
    return torch.relu(x * y) + torch.tanh(x)


def a_pass(pattern: str, replacement: str) -> str:
    return (
        f"import torch\n\n\ndef pattern(x, y):\n    return {pattern}\n\n\n"
        "def replacement_args(x, y):\n    return (x, y)\n\n\n"
        f"def fused(x, y):\n    {replacement}\n\n\ndef replacement_func():\n    return fused\n"
    )


def answer(tmp_path, **passes: str):
    files = {f"{name}.py": text for name, text in passes.items()}
    names = ", ".join(f'"{name}"' for name in passes)
    request = {
        "graph": from_graph(trace_pattern(graph)),
        "inputs": [META, META],
        "device": "cpu",
        "threads": torch.get_num_threads(),
        "lock": str(tmp_path / "lock"),
        "passes": {**files, "sorted_output_pass_rule_names.json": f"[{names}]"},
    }
    return {call["pass"]: call for call in confirm.confirm(request)["calls"]}


def test_calls_are_timed_in_pairs(tmp_path):
    slow = "for _ in range(40):\n        y = torch.sigmoid(torch.sigmoid(x)) * 0 + y\n    return torch.relu(x * y)"
    calls = answer(tmp_path, slow=a_pass("torch.relu(x * y)", slow))
    assert calls["slow"]["fault"] is None
    pairs = calls["slow"]["pairs"]
    assert len(pairs) >= 7
    # Forty times the operations, and more: slower in every pair, however busy the machine is.
    ratios = sorted(fused / eager for eager, fused in pairs)
    assert ratios[len(ratios) // 2] > 2


def test_a_wrong_result_and_an_error_are_faults(tmp_path):
    calls = answer(
        tmp_path,
        wrong=a_pass("torch.relu(x * y)", "return torch.relu(x + y)"),
        broken=a_pass("y + torch.tanh(x)", "raise ValueError('no plan')"),
    )
    assert "PyTorch" in calls["wrong"]["fault"] and calls["wrong"]["pairs"] == []
    assert "no plan" in calls["broken"]["fault"] or "refuses" in calls["broken"]["fault"]


def test_each_side_begins_as_often():
    order = []
    pairs = sample_pairs(lambda: order.append("eager"), lambda: order.append("fused"), torch.device("cpu"))
    timed = order[6:]
    firsts = timed[::2]
    assert len(timed) == 2 * len(pairs)
    assert abs(firsts.count("eager") - firsts.count("fused")) <= 1
