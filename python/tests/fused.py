"""Passes of the built-in author for CUDA, checked without a device: machine code, and results in Triton's interpreter.

`python fused.py compile DIR...` compiles every kernel of pass directories for sm_90, for one of its sizes.
`python fused.py run DIR...` runs their functions in the interpreter against their patterns.
"""

from __future__ import annotations

import atexit
import importlib.util
import math
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

_POINTERS = {
    torch.float16: "*fp16",
    torch.bfloat16: "*bf16",
    torch.float32: "*fp32",
    torch.float64: "*fp64",
    torch.int64: "*i64",
    torch.int32: "*i32",
    torch.int16: "*i16",
    torch.int8: "*i8",
    torch.uint8: "*u8",
    torch.bool: "*i1",
}


def load(path: Path, device: str) -> Any:
    """The module of a pass, with another device where it names CUDA."""
    text = path.read_text().replace("torch.device('cuda', 0)", f"torch.device('{device}')")
    # A separate file: Triton reads the source of its kernels.
    moved = Path(tempfile.mkdtemp(), path.name)
    moved.write_text(text.replace('device="cuda"', f'device="{device}"'))
    atexit.register(shutil.rmtree, moved.parent)
    spec = importlib.util.spec_from_file_location(path.stem, moved)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def arguments(
    module: Any,
    device: str,
    fill: Callable[[torch.Tensor], None],
    largest: float = math.inf,
    fits: Callable[[Any], bool] = lambda key: True,
) -> Iterator[tuple[Any, list[Any]]]:
    """For each row of `PLANS` that fits, the arguments that have its key; without rows of tensors of more elements."""
    # A pass that does what its pattern does has none.
    for key in getattr(module, "PLANS", {}):
        if max((math.prod(part) for part in key if isinstance(part, tuple)), default=0) > largest:
            continue
        if not fits(key):
            continue
        rest = list(key)
        made: list[Any] = []
        while rest:
            value = rest.pop(0)
            if not isinstance(value, tuple):
                made.append(value)
                continue
            stride = rest.pop(0) if isinstance(rest[0], tuple) else None
            dtype = rest.pop(0)
            if stride is None:
                tensor = torch.empty(value, dtype=dtype, device=device)
            else:
                tensor = torch.empty_strided(value, stride, dtype=dtype, device=device)
            fill(tensor)
            made.append(tensor)
        yield key, made


def compile_passes(directories: list[Path]) -> int:
    """Compiles all kernels of pass directories, and says what fails."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.runtime.jit import JITFunction

    target = GPUTarget("cuda", 90, 32)
    seen: set[str] = set()
    failures = 0

    def launch(kernel: Any, _grid: Any) -> Callable[..., None]:
        def call(*args: Any, num_warps: int, **_: Any) -> None:
            names = [parameter.name for parameter in kernel.params]
            constants = {(place,): arg for place, arg in enumerate(args) if isinstance(arg, int)}
            signature = {
                name: "constexpr" if isinstance(arg, int) else _POINTERS[arg.dtype]
                for name, arg in zip(names, args, strict=True)
            }
            # One size of each kernel: sizes change numbers in the code only.
            identity = f"{kernel.src}{signature}"
            if identity in seen:
                return
            seen.add(identity)
            source = ASTSource(fn=kernel, signature=signature, constexprs=constants)
            triton.compile(source, target=target, options={"num_warps": num_warps})

        return call

    JITFunction.__getitem__ = launch  # type: ignore[method-assign]
    for path in sorted(path for directory in directories for path in directory.glob("fuse_*.py")):
        module = load(path, "meta")
        if "kernels.cpp" in path.read_text():
            continue  # In host memory.
        for key, made in arguments(module, "meta", lambda tensor: None):
            try:
                module.fused(*made)
            except Exception as error:
                failures += 1
                print(f"{path}: {key}: {type(error).__name__}: {str(error)[:800]}")
                break
    print(f"{len(seen)} kernels, {failures} failures")
    return failures


def _stand_in_for_libdevice() -> None:
    """Gives the interpreter, which has no libdevice, the functions that kernels take from it."""
    import triton.language as tl
    from triton.language.extra import libdevice

    from passnet._worker.triton_interpreter import correct_products

    correct_products()
    # The interpreter puts its own functions into `tl` while a kernel runs.
    for name in ("exp", "log", "sin", "cos", "erf", "sqrt", "rsqrt", "floor", "ceil"):
        setattr(libdevice, name, lambda x, name=name: getattr(tl, name)(x))
    libdevice.tanh = lambda x: 2.0 * tl.sigmoid(2.0 * x) - 1.0
    libdevice.trunc = lambda x: tl.where(x < 0, tl.ceil(x), tl.floor(x))
    libdevice.expm1 = lambda x: tl.exp(x) - 1.0
    libdevice.log1p = lambda x: tl.log(x + 1.0)
    libdevice.mul_rn = lambda x, y: x * y
    libdevice.pow = lambda x, y: tl.exp(tl.log(x) * y)


def run_passes(directories: list[Path], largest: int = 40_000) -> int:
    """Runs what pass directories launch in the interpreter, and compares with their patterns; says what differs."""
    _stand_in_for_libdevice()
    torch.manual_seed(0)
    tolerance = {torch.float32: 1e-4, torch.float16: 4e-3, torch.bfloat16: 4e-2}
    compared = failures = 0

    def fill(tensor: torch.Tensor) -> None:
        if tensor.dtype.is_floating_point:
            # Weights, variances and the like are positive in real graphs.
            tensor.copy_(torch.rand(tensor.shape) + 0.25 if tensor.ndim == 1 else torch.randn(tensor.shape))
        else:
            tensor.copy_(torch.randint(0, 2, tensor.shape))

    for path in sorted(path for directory in directories for path in directory.glob("fuse_*.py")):
        module = load(path, "cpu")
        seen = set()
        for key, made in arguments(module, "cpu", fill, largest):
            kinds = str([part for part in key if isinstance(part, torch.dtype)])
            if kinds in seen:
                continue
            seen.add(kinds)
            mine, theirs = ([arg.clone() if isinstance(arg, torch.Tensor) else arg for arg in made] for _ in range(2))
            try:
                expected, found = module.pattern(*theirs), module.fused(*mine)
            except Exception as error:
                failures += 1
                print(f"{path}: {key}: {type(error).__name__}: {str(error)[:600]}")
                continue
            pairs = zip(_tensors(expected) + _tensors(theirs), _tensors(found) + _tensors(mine), strict=True)
            for want, have in pairs:
                compared += 1
                bound = tolerance.get(want.dtype, 0.0)
                same = want.shape == have.shape and want.stride() == have.stride() and want.dtype == have.dtype
                if not same or not torch.allclose(want, have, rtol=bound, atol=bound, equal_nan=True):
                    failures += 1
                    off = (want.double() - have.double()).abs().max() if want.shape == have.shape else "shape"
                    print(f"{path}: {key}: differs by {off}")
    print(f"{compared} tensors, {failures} failures")
    return failures


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for element in value for tensor in _tensors(element)] if isinstance(value, list | tuple) else []


if __name__ == "__main__":
    directories = [Path(name) for name in sys.argv[2:]]
    if sys.argv[1] == "compile":
        sys.exit(compile_passes(directories) != 0)
    os.environ["TRITON_INTERPRET"] = "1"
    sys.exit(run_passes(directories) != 0)
