"""Launches on CUDA devices reach the driver with all of their arguments, which a driver made for this test records."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from passnet.kernels import _compile

# A kernel's handle is its number of parameters: the real driver too reads as many words as the kernel has parameters.
DRIVER = r"""
#include <cstdint>
#include <cstdlib>
using Word = std::uint64_t;
static Word seen[1 << 16];
static long count = 0;
extern "C" {
long passnet_seen() { return count; }
Word passnet_word(long place) { return seen[place]; }
int cuCtxGetDevice(int* device) { *device = 0; return 0; }
int cuGetErrorName(int, const char** name) { *name = "none"; return 0; }
int cuModuleLoadData(void** module, const void*) { *module = nullptr; return 0; }
int cuModuleGetFunction(void** function, void*, const char* name) { *function = (void*)std::atol(name + 1); return 0; }
int cuFuncGetAttribute(int* value, int, void*) { *value = 0; return 0; }
int cuLaunchKernel(void* function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void** places, void**) {
    count = (long)function;
    for (long place = 0; place < count; ++place) seen[place] = *(Word*)places[place];
    return 0;
}
#define UNUSED(name) int name() { return 1; }
UNUSED(cuCtxSynchronize) UNUSED(cuDeviceGetAttribute) UNUSED(cuEventCreate) UNUSED(cuEventDestroy_v2) UNUSED(cuEventElapsedTime)
UNUSED(cuEventRecord) UNUSED(cuFuncSetAttribute) UNUSED(cuMemAlloc_v2) UNUSED(cuMemFree_v2) UNUSED(cuMemcpyDtoDAsync_v2) UNUSED(cuMemcpyDtoH_v2)
UNUSED(cuMemsetD8Async) UNUSED(cuModuleUnload)
}
"""

# Launches kernels of each kind with this many arguments, and prints the words that the driver saw.
SCRIPT = """
import ctypes, json, sys
import torch
from passnet import _native

driver = ctypes.CDLL("libcuda.so.1")
driver.passnet_word.restype = ctypes.c_uint64
count = int(sys.argv[1])


class OnDevice:
    is_cuda, dtype, shape, device, itemsize = True, torch.float32, (1,), "cuda:0", 4

    def __init__(self, address):
        self.address = address

    def data_ptr(self):
        return self.address

    def get_device(self):
        return 0

    def is_contiguous(self):
        return True

    def is_conj(self):
        return False

    is_neg = is_conj


class Jit:
    __name__ = "kernel"

    def run(self, *_, grid, warmup):
        assert warmup
        return "compiled"


def seen():
    words = [driver.passnet_word(place) for place in range(driver.passnet_seen())]
    driver.cuLaunchKernel(None, 0, 0, 0, 0, 0, 0, 0, None, None, None)
    return words


arguments = [OnDevice(16 * (place + 1)) for place in range(count)]
names = [f"x{place}" for place in range(count)]
stream = lambda device: 0
# Two parameters for scratch memory come after those of the kernel.
describe = lambda kernel, given: (given + 2, 32, 0, "*" * given)
triton = _native.TritonLauncher(Jit(), names, [False] * count, describe, stream)
cuda = _native.CudaLauncher(
    f"k{count}", [(name, "float*", "*", [torch.float32], False, False, None) for name in names], lambda device: b"", stream
)
result = {}
triton[(1,)](*arguments)
result["first"] = seen()
triton[(1,)](*arguments)
result["triton"] = seen()
cuda[(1,), (32,)](*arguments)
result["cuda"] = seen()


def function(*values):
    triton[(1,)](*values)
    return values[0]


def observe(function, values):
    slots = list(values)
    return function(*values), False, (lambda *_: True, list(range(len(slots))), slots, [], 0, [])


if count <= 256:
    prepared = _native.PreparedFunction(function, observe, stream)
    prepared(*arguments)
    seen()
    prepared(*arguments)
    result["prepared"] = seen()
print(json.dumps(result))
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("driver")
    source = folder / "driver.cpp"
    source.write_text(DRIVER)
    command = [
        _compile._compiler(),
        "-shared",
        "-fPIC",
        "-Wl,-soname,libcuda.so.1",
        "-o",
        folder / "libcuda.so.1",
        source,
    ]
    subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a real driver")
@pytest.mark.parametrize("count", [1, 62, 63, 64, 65, 500])
def test_every_argument_reaches_the_driver(driver: Path, count: int):
    environment = {**os.environ, "LD_LIBRARY_PATH": str(driver)}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(count)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    words = [16 * (place + 1) for place in range(count)]
    expected = {"first": [*words, 0, 0], "triton": [*words, 0, 0], "cuda": words}
    if count <= 256:
        expected["prepared"] = [*words, 0, 0]
    assert json.loads(done.stdout) == expected
