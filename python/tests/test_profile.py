"""Profiles of a call."""

import textwrap
import time
from pathlib import Path

import torch

from passnet._passes import wire
from passnet._passes.trace import trace_pattern
from passnet._services import profiled_call
from passnet._worker.profile import profiled


def test_a_slow_first_call_does_not_count():
    calls = []

    def call():
        if not calls:
            time.sleep(0.2)
        calls.append(torch.relu(torch.ones(64)))

    profile = profiled(call, call, (), lambda: None, cuda=False)
    assert len(calls) > 10, "the call is repeated"
    assert profile["wall_ns"] < 50_000_000, "the time is that of a warm call"
    assert sum(row["total_ns"] for row in profile["host"]) < 50_000_000


def test_rows_are_per_call():
    x = torch.ones(64)

    def call():
        return torch.relu(x), torch.relu(x)

    profile = profiled(call, call, (), lambda: None, cuda=False)
    (relu,) = [row for row in profile["host"] if row["name"] == "aten::relu"]
    assert relu["count"] == 2


def test_a_call_for_a_tool_runs_the_passes(tmp_path: Path):
    passes = {
        "noisy.py": """
            def pattern(x):
                return torch.relu(x)

            def replacement_args(x):
                return (x,)

            def replacement_func():
                return noisy

            def noisy(x):
                with open({!r}, "a") as file:
                    file.write("called\\n")
                return torch.relu(x)
            """,
        "sorted_output_pass_rule_names.json": '["noisy"]',
    }
    log = tmp_path / "log.txt"
    passes["noisy.py"] = "import torch\n" + textwrap.dedent(passes["noisy.py"].replace("{!r}", repr(str(log))))
    request = {
        "graph": wire.from_graph(trace_pattern(lambda x: torch.relu(x) + 1)),
        "inputs": [{"name": "x", "dtype": "float32", "shape": [4], "device": "cpu"}],
        "device": "cpu",
        "threads": 1,
        "lock": "",
        "passes": passes,
    }
    profiled_call.call(request, 2)
    assert log.read_text().count("called") == 3
    profiled_call.call({**request, "passes": {}}, 1)
    assert log.read_text().count("called") == 3
