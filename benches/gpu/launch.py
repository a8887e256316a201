"""Host cost of the ways to launch a small kernel, in one process, interleaved: median microseconds per call.

    python benches/gpu/launch.py [ROUNDS]

Needs a CUDA device and the `passnet` package. Each call is timed without waiting for the device; the queue is drained
between rounds.
"""

from __future__ import annotations

import ctypes
import json
import statistics
import sys
import time
from collections.abc import Callable

import torch
import triton
import triton.language as tl

from passnet import kernels

CALLS = 200


@triton.jit
def jit_add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


fast_add = kernels.triton(jit_add)

cuda_add = kernels.cuda(
    """
    __global__ void add(const float* x, const float* y, float* out, int64_t n) {
        int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
        if (i < n) out[i] = x[i] + y[i];
    }
    """,
    "void add(const float* x, const float* y, float* out, int64_t n)",
)


@kernels.prepared
def prepared_triton(x, y):
    out = torch.empty_like(x)
    fast_add[(1,)](x, y, out, 1024, BLOCK=1024)
    return out


@kernels.prepared
def prepared_cuda(x, y):
    out = torch.empty_like(x)
    cuda_add[(1,), (1024,)](x, y, out, 1024)
    return out


def ways() -> dict[str, Callable[[], object]]:
    x, y = torch.randn(2, 1024, device="cuda")
    out = torch.empty_like(x)
    compiled = jit_add[(1,)](x, y, out, 1024, BLOCK=1024)
    raw = torch._C._dynamo.guards._empty_strided_cuda
    driver, no_scratch = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(0)
    size = ctypes.c_int(1024)
    pointers = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (x, y, out)]
    held = [*pointers, size, no_scratch, no_scratch]
    arguments = (ctypes.c_void_p * len(held))(*[ctypes.addressof(value) for value in held])
    function, threads = ctypes.c_void_p(compiled.function), 32 * compiled.metadata.num_warps

    def prepared() -> int:
        # `arguments` holds addresses only: the closure keeps what they point to.
        return driver.cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, None, arguments, None) if held else 0

    def with_output(launch: Callable[[torch.Tensor], object]) -> Callable[[], object]:
        return lambda: launch(torch.empty_like(x))

    return {
        "nothing (an empty Python function)": lambda: None,
        "torch.empty_like": lambda: torch.empty_like(x),
        "Inductor's empty_strided": lambda: raw((1024,), (1,), torch.float32),
        "torch.add": lambda: torch.add(x, y),
        "torch.add, out given": lambda: torch.add(x, y, out=out),
        "Triton JIT": lambda: jit_add[(1,)](x, y, out, 1024, BLOCK=1024),
        "Triton, compiled kernel": lambda: compiled[(1, 1, 1)](x, y, out, 1024, 1024),
        "ctypes cuLaunchKernel, prepared": prepared,
        "passnet.kernels.triton": lambda: fast_add[(1,)](x, y, out, 1024, BLOCK=1024),
        "passnet.kernels.cuda": lambda: cuda_add[(1,), (1024,)](x, y, out, 1024),
        "passnet.kernels.triton + empty_like": with_output(lambda o: fast_add[(1,)](x, y, o, 1024, BLOCK=1024)),
        "passnet.kernels.cuda + empty_like": with_output(lambda o: cuda_add[(1,), (1024,)](x, y, o, 1024)),
        "passnet.kernels.prepared, Triton, with its output": lambda: prepared_triton(x, y),
        "passnet.kernels.prepared, CUDA C++, with its output": lambda: prepared_cuda(x, y),
    }


def main(rounds: int = 50) -> None:
    all_ways = ways()
    medians: dict[str, list[float]] = {name: [] for name in all_ways}
    for round_ in range(rounds + 5):
        for name, call in all_ways.items():
            torch.cuda.synchronize()
            start = time.perf_counter_ns()
            for _ in range(CALLS):
                call()
            elapsed = time.perf_counter_ns() - start
            if round_ >= 5:
                medians[name].append(elapsed / CALLS / 1000)
    versions = {"torch": torch.__version__, "triton": triton.__version__, "device": torch.cuda.get_device_name()}
    table = {name: round(statistics.median(values), 2) for name, values in medians.items()}
    print(json.dumps({"schema_version": 1, "unit": "us", **versions, "median": table}, indent=2))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
