"""Descriptions of errors of the code under test."""

from __future__ import annotations

import pytest

from passnet._worker.errors import describe


def test_errors_name_files_of_passes_without_the_temporary_folder():
    code = compile(
        "raise ValueError('in /tmp/x/passnet-scratch-7-Ab_c/passes/p.py')",
        "/tmp/passnet-scratch-7-Ab_c/passes/p.py",
        "exec",
    )
    with pytest.raises(ValueError, match="scratch") as raised:
        exec(code)
    described = describe(raised.value, "run")
    assert described["message"] == "in passes/p.py"
    assert 'File "passes/p.py", line 1' in described["traceback"] and "scratch" not in described["traceback"]


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("CUDA error: out of memory\nSearch for `cudaErrorMemoryAllocation'", "OutOfMemoryError"),
        ("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", "OutOfMemoryError"),
        ("Triton Error [CUDA]: out of memory", "OutOfMemoryError"),
        ("CUDA error: an illegal memory access was encountered", "RuntimeError"),
    ],
)
def test_errors_for_lack_of_memory_have_one_name(message: str, name: str):
    assert describe(RuntimeError(message), "run")["exception"] == name
