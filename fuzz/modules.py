"""Compares random modules in eager mode, by `passnet.compile` and by `torch.compile(backend="passnet")`.

    PYTHONPATH=python python fuzz/modules.py [--first 0] [--count 1000] [--seconds 600] [--steps 8] [--how NAME ...]

A module has views, writes to arguments and buffers, shared parameters and attributes that a program changes between calls. Calls have
several sizes, types, strides, arguments that share memory, modes of gradients, inference and autocast. Compared are values, types,
strides, objects and memory that results share with arguments and state, writes, and gradients. Prints the source and the calls of each
module that differs.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import random
import sys
import time
import traceback
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from module_texts import COLUMNS, HEAD, Source
from torch.utils import _pytree as pytree


class Call:
    """One call: sizes, types, strides and sharing of its arguments, the mode, and a change of the module before it."""

    MODES = ("no_grad", "no_grad", "inference", "grad", "weights", "autocast", "autocast_grad")
    SHARING = ("", "", "", "same", "view", "overlap", "storage", "bag", "buffer", "parameter")
    CHANGES = (
        *("", "", "", "", "scale", "flag", "train", "eval", "values", "share", "buffer", "freeze"),
        *("load", "assign", "parameter", "cast", "hook", "unhook", "layer", "copy"),
    )

    def __init__(self, choose: random.Random) -> None:
        self.rows = choose.choice([4, 6])
        self.dtype = choose.choice([torch.float32, torch.float32, torch.float32, torch.float64, torch.bfloat16])
        self.layout = choose.choice(["", "", "transposed", "sliced"])
        self.mode = choose.choice(self.MODES)
        self.sharing = choose.choice(self.SHARING)
        self.change = choose.choice(self.CHANGES)
        self.seed = choose.randrange(1 << 30)

    def __repr__(self) -> str:
        return str(vars(self))

    def arguments(self, module: torch.nn.Module) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Returns fresh arguments."""
        generator = torch.Generator().manual_seed(self.seed)

        def matrix(rows: int = self.rows, columns: int = COLUMNS) -> torch.Tensor:
            value = torch.randn(2 * rows, 2 * columns, generator=generator).to(self.dtype)
            if self.layout == "sliced":
                return value[1 : rows + 1, ::2]
            value = value[:rows, :columns].clone()
            return value.t().contiguous().t() if self.layout == "transposed" else value

        x, y, z = matrix(), matrix(), matrix()
        r, h = matrix()[0], matrix(columns=COLUMNS // 2)
        if self.sharing == "same":
            y = x
        elif self.sharing == "view":
            y = x[:]
        elif self.sharing == "overlap":
            both = matrix(self.rows + 1)
            x, y = both[:-1], both[1:]
        elif self.sharing == "storage":
            r = x[1]
        elif self.sharing == "bag":
            z, h = y.t().t(), x[:, 4:]
        elif self.sharing == "buffer":
            r = module.average
        elif self.sharing == "parameter":
            r = module.shift.detach()
        if self.mode.endswith("grad") and self.mode != "no_grad" and self.seed % 2:
            x = x.requires_grad_() if self.seed % 3 else x.clone().requires_grad_() * 1
        return (x, y), {"bag": {"z": z, "pair": (r, h), "n": 3}}

    def prepare(self, module: torch.nn.Module) -> None:
        """Makes the change before the call."""
        with torch.no_grad():
            if self.change == "scale":
                module.scale = 1 + self.seed % 3
            elif self.change == "flag":
                module.flag = not module.flag
            elif self.change in ("train", "eval"):
                module.train(self.change == "train")
            elif self.change == "values":
                module.first.weight.mul_(0.9)
            elif self.change == "share":
                module.second.weight = module.first.weight
            elif self.change == "buffer":
                module.average = torch.full((COLUMNS,), 2.0)
            elif self.change == "freeze":
                module.first.requires_grad_(self.seed % 2 == 0)
            elif self.change in ("load", "assign"):
                state = {name: value * 0.75 for name, value in module.state_dict().items()}
                state["norm.num_batches_tracked"] = module.norm.num_batches_tracked.clone()
                # A tensor of inference mode, which a call has assigned, cannot be written to.
                module.load_state_dict(state, assign=self.change == "assign" or module.average.is_inference())
            elif self.change == "parameter":
                module.shift = torch.nn.Parameter(module.shift + 0.25)
            elif self.change == "cast":
                module.to(self.dtype)
            elif self.change == "hook":
                module.second.register_forward_hook(lambda _, args, result: result * 0.5 + args[0].mean())
            elif self.change == "unhook":
                module.second._forward_hooks.clear()
            elif self.change == "layer":
                module.first = torch.nn.Linear(COLUMNS, COLUMNS).to(self.dtype)

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Enters the mode of the call."""
        with contextlib.ExitStack() as stack:
            if self.mode == "inference":
                stack.enter_context(torch.inference_mode())
            if self.mode in ("no_grad", "autocast"):
                stack.enter_context(torch.no_grad())
            if self.mode.startswith("autocast"):
                stack.enter_context(torch.autocast("cpu", torch.bfloat16))
            yield


def outcome(function: Callable[..., Any], module: torch.nn.Module, call: Call) -> dict[str, Any]:
    """Returns all that a caller may observe of a call."""
    args, kwargs = call.arguments(module)
    given = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    versions = [_version(value) for value in given]
    state = {**dict(module.named_parameters(remove_duplicate=False)), **dict(module.named_buffers())}
    for value in module.parameters():
        value.grad = None
    # Where an argument is no leaf, the gradient of its leaf is compared. After a write, the argument's own gradient is that of its new
    # value, which graphs of AOTAutograd need not use.
    leaves = [
        value if value.is_leaf else getattr(value.grad_fn.next_functions[0][0], "variable", value) for value in given
    ]
    try:
        with call.entered():
            torch.manual_seed(call.seed)
            result = function(*args, **kwargs)
        results, structure = pytree.tree_flatten(result)
        tensors = [leaf for leaf in results if isinstance(leaf, torch.Tensor)]
        ends = [leaf for leaf in tensors if leaf.requires_grad and leaf.grad_fn is not None]
        seen = {
            "structure": str(structure),
            "constants": [leaf for leaf in results if not isinstance(leaf, torch.Tensor)],
            "types": [(leaf.dtype, leaf.shape, leaf.stride()) for leaf in tensors],
            "gradient": [(leaf.requires_grad, leaf.is_leaf, leaf.is_inference()) for leaf in tensors],
        }
        now = {**dict(module.named_parameters(remove_duplicate=False)), **dict(module.named_buffers())}
        every = [*given, *state.values(), *now.values(), *tensors]
        seen["objects"] = [[id(other) for other in every].index(id(value)) for value in every]
        memory = [value.untyped_storage()._cdata for value in every]
        seen["memory"] = [memory.index(own) for own in memory]
        # Relative to the first of the values that share memory: where these begin in their memory does not matter.
        seen["offsets"] = [
            value.storage_offset() - every[memory.index(own)].storage_offset()
            for value, own in zip(every, memory, strict=True)
        ]
        # The number of writes may differ, but not whether there was one.
        seen["writes"] = [_version(value) != version for value, version in zip(given, versions, strict=True)]
        seen["values"] = [value.detach().clone() for value in every]
        if ends and torch.is_grad_enabled():
            torch.autograd.backward(ends, [torch.ones_like(end) for end in ends])
        seen["gradients"] = [value.grad for value in (*leaves, *now.values()) if value.is_leaf]
    except Exception as error:
        return {"error": error}
    return seen


def _version(tensor: torch.Tensor) -> int:
    # Inference tensors do not count writes.
    return 0 if tensor.is_inference() else tensor._version


def difference(ours: dict[str, Any], theirs: dict[str, Any], *, low: bool) -> str | None:
    """Returns how two outcomes differ; None if they do not. `low` allows the errors of bfloat16."""
    if "error" in theirs and "error" not in ours:
        # Dynamo leaves out operations whose results are unused, with their exceptions.
        return None
    if "error" in ours and "error" not in theirs:
        error = ours.get("error", theirs.get("error"))
        frames = "".join(traceback.format_tb(error.__traceback__)[-6:])
        return f"error: {ours.get('error')!r} instead of {theirs.get('error')!r}"[:1500] + f"\n{frames}"
    if "error" in theirs:
        return None
    for name, expected in theirs.items():
        if name in ("values", "gradients"):
            for place, (found, value) in enumerate(zip(ours[name], expected, strict=True)):
                if (found is None) != (value is None):
                    return f"{name}[{place}]: {found} instead of {value}"
                tolerance = (
                    {"rtol": 0.1, "atol": 0.1}
                    if low or (value is not None and value.dtype == torch.bfloat16)
                    else {"rtol": 1e-3, "atol": 1e-4}
                )
                if value is not None and not torch.allclose(found, value, equal_nan=True, **tolerance):
                    return f"{name}[{place}]: {found} instead of {value}"
        elif ours[name] != expected:
            return f"{name}: {ours[name]} instead of {expected}"
    return None


def made(text: str) -> torch.nn.Module:
    """Returns the module of a text, in evaluation mode."""
    import linecache

    name = f"<random {hash(text)}>"
    # Dynamo reads the source in its messages.
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    # Some releases of Dynamo import the module of a function by its name.
    space = sys.modules.setdefault("random_modules", types.ModuleType("random_modules"))
    exec(compile(text, name, "exec"), vars(space))
    torch.manual_seed(0)
    return space.Random().eval()


def program(seed: int, steps: int) -> tuple[str, list[Call]]:
    """Returns the text of a module that eager mode runs at least once, and calls."""
    choose = random.Random(seed)
    while True:
        source = Source(choose, steps)
        calls = [Call(choose) for _ in range(5)]
        kept = [line for line in source.lines]
        # Leaves out statements until a plain call works.
        for _ in range(steps):
            source.lines = kept
            error = fault(source.text())
            if error is None:
                return source.text(), calls
            if not 1 <= error < len(kept) - 1:
                break
            # The value stays defined, so that later statements have it.
            line = kept[error]
            kept = [
                *kept[:error],
                *([f"{line.split(' = ')[0]} = x + 0"] if line.startswith("v") and " = " in line else ["pass"]),
                *kept[error + 1 :],
            ]
            if kept[error] == line:
                break


def fault(text: str) -> int | None:
    """Returns the number of the statement that fails in a plain call; None if none does."""
    module = made(text)
    call = Call(random.Random(1))
    call.dtype, call.mode, call.sharing, call.layout = torch.float32, "no_grad", "", ""
    error = outcome(module, module, call).get("error")
    if error is None:
        return None
    first = len(HEAD.format(m=COLUMNS).splitlines()) + 1
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno - first for frame in reversed(frames) if frame.filename.startswith("<random")), -1)


def compilers(names: list[str]) -> dict[str, Callable[[torch.nn.Module], Callable[..., Any]]]:
    """Returns the functions that compile a module, by name."""
    import passnet
    import passnet.backend

    passnet.backend.register()
    known = {
        "compile": lambda module: passnet.compile(module),
        "unverified": lambda module: passnet.compile(module, verify=False),
        "backend": lambda module: torch.compile(module, backend="passnet"),
        "static": lambda module: torch.compile(module, backend="passnet", dynamic=False),
        "eager": lambda module: torch.compile(module, backend="eager"),
        "aot_eager": lambda module: torch.compile(module, backend="aot_eager"),
    }
    return {name: known[name] for name in names}


def findings(seed: int, steps: int, names: list[str]) -> Iterator[str]:
    """Yields the differences of one random module."""
    text, calls = program(seed, steps)
    for name, compiler in compilers(names).items():
        torch._dynamo.reset()
        ours, theirs = made(text), made(text)
        function = compiler(ours)
        for number, call in enumerate(calls):
            if call.change == "copy":
                function, theirs = copy.deepcopy((function, theirs))
                ours = getattr(function, "_orig_mod", None) or function.model
            for module in (ours, theirs):
                torch.manual_seed(call.seed)
                call.prepare(module)
            failed = False
            for repeat in range(3):
                expected = outcome(theirs, theirs, call)
                found = outcome(function, ours, call)
                if reason := difference(found, expected, low=call.mode.startswith("autocast")):
                    yield f"seed {seed}, {name}, call {number} repeat {repeat}: {reason}\n  {call}"
                    failed = True
                    break
                if "error" in expected:
                    # Eager mode may have failed after some of the writes.
                    failed = True
                    break
            if failed:
                break


def main() -> None:
    """Runs the program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--how", nargs="+", default=["compile", "unverified", "backend", "static"])
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    # Otherwise, `torch.compile` does not notice hooks that are added after the first call, with any backend.
    torch._dynamo.config.skip_nnmodule_hook_guards = False
    started, tried, wrong = time.monotonic(), 0, 0
    for seed in range(given.first, given.first + given.count):
        if time.monotonic() - started > given.seconds:
            break
        found = list(findings(seed, given.steps, given.how))
        tried += 1
        wrong += bool(found)
        for text in found:
            print(text, flush=True)
        if found:
            print(program(seed, given.steps)[0].split("def forward")[1], flush=True)
    print(f"{tried} modules, {wrong} differ, {time.monotonic() - started:.0f} s")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
