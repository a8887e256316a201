"""Sources in CUDA C++ are compiled and judged without a GPU. Only their launch needs one."""

from __future__ import annotations

from pathlib import Path

import pytest

from passnet import kernels
from passnet.kernels import KernelCompileError, KernelRefusedError, _cuda, _nvrtc

DECLARATION = 'extern "C" __global__ void k(const float* x, float* out, int n);\n'
HEAD = "__global__ void k(const float* x, float* out, int n) "


@pytest.fixture(autouse=True)
def _needs_the_compiler():
    try:
        _nvrtc._library()
    except KernelCompileError as error:
        pytest.skip(str(error))


def code_of(source: str) -> bytes:
    return _cuda.machine_code(DECLARATION, source, "sm_90", ())


@pytest.mark.parametrize(
    "source",
    [
        f"#include <cstdint>\n#include <cmath>\n{HEAD}{{ uint8_t u = 3; out[0] = x[0] < INFINITY ? expf(x[0]) + u : M_PI; }}",
        f"#include <cfloat>\n#include <limits.h>\n{HEAD}{{ out[0] = n < INT_MAX ? -FLT_MAX : FLT_EPSILON; }}",
        f"extern __shared__ float s[];\n{HEAD}{{ s[threadIdx.x] = x[threadIdx.x]; __syncthreads(); out[0] = s[n]; }}",
    ],
)
def test_headers_of_the_language(source: str):
    assert code_of(source).startswith(b"\x7fELF")


@pytest.mark.parametrize(
    "source",
    [
        f"#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n{HEAD}{{ const __half2* h = (const __half2*)x;"
        " out[0] = __half22float2(__hadd2(h[0], h[1])).x + __bfloat162float(((const __nv_bfloat16*)x)[3]); }",
        "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\nnamespace cg = cooperative_groups;\n"
        f"{HEAD}{{ auto t = cg::tiled_partition<32>(cg::this_thread_block());"
        " out[0] = cg::reduce(t, x[t.thread_rank()], cg::plus<float>()); }",
        f"#include <algorithm>\n#include <array>\n#include <limits>\n{HEAD}{{ std::array<float, 4> a{{}};"
        " for (int i = 0; i < 4; ++i) a[i] = std::max(x[i], -std::numeric_limits<float>::infinity());"
        " out[0] = std::clamp(a[0] + a[3], 0.0f, 1.0f); }",
        f"#include <cub/block/block_reduce.cuh>\n{HEAD}{{ using Block = cub::BlockReduce<float, 256>;"
        " __shared__ typename Block::TempStorage t; out[0] = Block(t).Sum(x[threadIdx.x]); }",
    ],
)
def test_headers_of_cuda(source: str):
    if len(_nvrtc._include_folders()) < 2:
        pytest.skip("needs the package nvidia-cuda-cccl")
    assert code_of(source).startswith(b"\x7fELF")


def test_a_missing_header_is_named():
    with pytest.raises(KernelCompileError, match=r'cannot open source file "absent\.h"'):
        code_of(f"#include <absent.h>\n{HEAD}{{ }}")


def test_headers_do_not_hide_state():
    with pytest.raises(KernelRefusedError, match="`calls` is memory of the device"):
        code_of(f"#include <cstdint>\n__device__ int calls;\n{HEAD}{{ out[0] = ++calls; }}")


def test_the_launcher_takes_such_sources():
    assert kernels.cuda(f"#include <cmath>\n{HEAD}{{ }}", "void k(const float* x, float* out, int32_t n)")


def test_the_second_build_of_the_compiler_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    for name in ("libnvrtc.alt.so.13", "libnvrtc.so.13", "libnvrtc-builtins.so.13.0"):
        (tmp_path / name).touch()
    monkeypatch.setattr(_nvrtc, "_roots", lambda: (tmp_path,))
    assert _nvrtc._bundled("13") == [str(tmp_path / "libnvrtc.so.13")]
