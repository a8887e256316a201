"""Profiles of a call."""

import time

import torch

from passnet._worker.profile import profiled


def test_a_slow_first_call_does_not_count():
    calls = []

    def call():
        if not calls:
            time.sleep(0.2)
        calls.append(torch.relu(torch.ones(64)))

    profile = profiled(call, call, cuda=False)
    assert len(calls) > 10, "the call is repeated"
    assert profile["wall_ns"] < 50_000_000, "the time is that of a warm call"
    assert sum(row["total_ns"] for row in profile["host"]) < 50_000_000


def test_rows_are_per_call():
    x = torch.ones(64)

    def call():
        return torch.relu(x), torch.relu(x)

    profile = profiled(call, call, cuda=False)
    (relu,) = [row for row in profile["host"] if row["name"] == "aten::relu"]
    assert relu["count"] == 2
