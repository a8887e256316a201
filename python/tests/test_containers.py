"""Memory of `std::vector` in kernels: empty again after each call, in all threads, and with nothing else next to it."""

from __future__ import annotations

import pytest
import torch

from passnet import _native, kernels

# As workers of the referee do.
_native.judge_kernels(True)

# A member of a union is not destroyed: its memory is never released.
KEPT = """
#include <vector>

union Kept {
    std::vector<float> values;
    explicit Kept(int64_t n) : values() { values.reserve(n); }
    ~Kept() {}
};
"""
SIGNATURE = "void f(float* out, int64_t n)"


def kernel(body: str, *flags: str, name: str = "f"):
    signature = SIGNATURE.replace("f(", f"{name}(")
    return kernels.cpp(f"{KEPT}{signature} {{ {body} }}", signature, flags=list(flags))


def results(kernel, count: int = 8, calls: int = 4) -> list[list[float]]:
    found = []
    for _ in range(calls):
        out = torch.zeros(count)
        kernel(out, count)
        found.append(out.tolist())
    return found


@pytest.mark.parametrize("size", [6, 5_000, 3_000_000])
def test_memory_that_is_not_released_is_not_there_in_the_next_call(size: int):
    # Where the first block of a call lies, and what is in it.
    look = kernel(
        f"Kept kept({size}); float* here = kept.values.data(); out[0] = here[0]; here[0] = 7;"
        "uint64_t place; std::memcpy(&place, &here, 8); out[1] = float(place >> 12 & 0xfffff);"
    )
    found = results(look)
    assert all(values == found[0] for values in found) and found[0][0] == 0


def test_bytes_behind_a_block_are_cleared():
    # Within the pages of an arena that this call or an earlier one has opened.
    large = kernel("std::vector<float> values(20000, 1.0f); out[0] = values[n];")
    behind = kernel("Kept kept(4); float* here = kept.values.data(); out[0] = here[400]; here[400] = 7;")
    large(torch.zeros(8), 8)
    assert all(values[0] == 0 for values in results(behind))


def test_threads_leave_nothing_and_their_memory_lasts_as_long_as_the_call():
    team = kernel(
        """
        std::vector<std::vector<float>> parts(2);
        #pragma omp parallel for num_threads(2) schedule(static, 1)
        for (int64_t part = 0; part < 2; ++part) {
            Kept kept(100);
            float* here = kept.values.data();
            out[part] = here[0];
            here[0] = 7;
            parts[part].assign(n, 3.0f);
        }
        for (int64_t part = 0; part < 2; ++part) out[2 + part] = parts[part][n - 1];
        """,
        "-fopenmp",
    )
    assert all(values[:4] == [0, 0, 3, 3] for values in results(team))


@pytest.mark.parametrize(
    ("name", "body", "access"),
    [
        ("behind", "out[0] = v.data()[n + 8];", "read"),
        ("written", "v.data()[n + 9] = 1; out[0] = v[0];", "write"),
        ("before", "out[0] = v.data()[-1017 - n];", "read"),
        ("far", "out[0] = v.data()[n * 100000];", "read"),
        ("grows", "for (int64_t i = 0; i < 3 * n; ++i) v.push_back(1); out[0] = v[n + 9];", None),
    ],
)
@pytest.mark.parametrize("side", ["end", "home"])
def test_accesses_outside_of_a_container_are_found_in_checked_calls(
    name: str, body: str, access: str | None, side: str
):
    # A violation is recorded once for each kernel.
    stray = kernel(f"std::vector<float> v(16, 1.0f); {body}", name=f"{name}_{side}")
    out = torch.zeros(8)
    before = len(_native.recorded_violations())
    _native.guard_kernels(side)
    try:
        stray(out, 8)
    finally:
        _native.guard_kernels(None)
    found = _native.recorded_violations()[before:]
    assert len(found) == (access is not None), found
    if access:
        assert "memory next to that of a container" in found[0] and found[0].endswith(access)


PLACES = """
int64_t count = 0;
auto note = [&](const void* place) {
    uint64_t number = uint64_t(place);
    out[count++] = float(number & 0xffffff);
    out[count++] = float(number >> 24);
};
for (int64_t row = 0; row < 3; ++row) { std::vector<float> values(100 * row + 5); note(values.data()); }
std::vector<float> first(10), second(3000);
note(first.data());
note(second.data());
{ std::vector<float> third(7), fourth(7); note(fourth.data()); out[count++] = third[3]; third[3] = 7; }
std::vector<float>().swap(first);
std::vector<float> fifth(1), grown;
for (int64_t i = 0; i < 50; ++i) { grown.push_back(1); }
note(fifth.data());
note(grown.data());
std::vector<float>().swap(second);
std::vector<float> last(5);
note(last.data());
out[count++] = last[3];
"""


def test_addresses_of_containers_do_not_show_that_a_call_among_timed_ones_is_guarded():
    look = kernel(PLACES, name="places")
    usual = results(look, 32)
    before = len(_native.recorded_violations())
    _native.guard_kernels("hidden")
    try:
        guarded = results(look, 32)
    finally:
        _native.guard_kernels(None)
    assert _native.recorded_violations()[before:] == []
    assert usual[0] == usual[1] and guarded == usual
