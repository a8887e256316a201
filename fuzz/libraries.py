"""Compares models of libraries in eager mode, by `passnet.compile` and by `torch.compile(backend="passnet")`.

    PYTHONPATH=python python fuzz/libraries.py [SPEC ...] [--how NAME ...] [--ways NAME ...] [--device cuda] [--limit 120] [--first 0] [--step 1]

`SPEC` names models as `passnet extract` does; the default is `@fuzz/libraries.txt`. Models of transformers are reduced to few
parameters. A model is called in several ways: two batch sizes in turns, in inference mode, under autocast, in bfloat16, and for two
steps of training. Compared are structures, types, strides and values of results, inputs and buffers after the call, gradients and the
state of the random generator. Values may have errors, measured against float64, that are not clearly larger than those of eager mode.
Prints one line for each model and each way that differs, with the difference that eager mode has when all weights are rounded up or
down once. If that is as large, a rounding decides the result, as where experts are chosen by nearly equal numbers. A model that takes
longer than the limit counts as hanging.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import dataclasses
import faulthandler
import multiprocessing
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

import passnet
import passnet.backend
from passnet._zoo import Limits, Recipe, listed, resolve

PARAMETERS = 2e5
FACTOR = 4.0
# Added to the multiple of eager mode's error, which may happen to be zero: roundings of the largest element, by the bytes of a number.
ROUNDINGS = {2: 2.0, 4: 64.0, 8: 64.0}
# Errors against eager mode where the model does not run in float64, relative to the largest element.
LOOSE = {torch.float64: 1e-6, torch.float32: 1e-3, torch.float16: 2e-2, torch.bfloat16: 1e-1}
Call = tuple[tuple[Any, ...], dict[str, Any]]


def leaves(value: Any, path: str = "", seen: tuple[int, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yields the path and the value of each leaf: tensors, constants, and the types of containers and objects."""
    if isinstance(value, torch.Tensor) or value is None or isinstance(value, (bool, int, float, str)):
        yield path, value
        return
    yield path, type(value)
    if id(value) in seen:
        return
    seen = (*seen, id(value))
    if isinstance(value, dict):
        items: Any = value.items()
    elif isinstance(value, (list, tuple)):
        items = enumerate(value)
    elif dataclasses.is_dataclass(value) or hasattr(value, "__dict__"):
        items = vars(value).items() if type(value).__module__.startswith("transformers.cache") else ()
    else:
        items = ()
    for key, item in items:
        yield from leaves(item, f"{path}.{key}", seen)


def close(ours: torch.Tensor, theirs: torch.Tensor, exact: Any) -> str | None:
    """Returns how the values differ by more than rounding; None if they do not."""
    if not (theirs.is_floating_point() or theirs.is_complex()):
        if torch.equal(ours, theirs):
            return None
        # Indices and masks may follow from rounded values.
        both = ours.ne(theirs).float().mean().item()
        return None if both < 0.05 and exact is not None else f"{both:.1%} of {theirs.dtype} differ"
    if not theirs.numel() or torch.equal(ours, theirs):
        return None
    if not torch.equal(ours.isnan(), theirs.isnan()):
        return f"{int(ours.isnan().sum())} NaN instead of {int(theirs.isnan().sum())}"
    wide, other = (value.to(torch.complex128 if value.is_complex() else torch.float64) for value in (ours, theirs))
    largest = other.abs().nan_to_num(0, 0, 0).amax().item()
    error = (wide - other).abs().nan_to_num(0, 0, 0).amax().item()
    if not isinstance(exact, torch.Tensor) or exact.shape != theirs.shape:
        loose = LOOSE.get(theirs.dtype, 1e-3)
        return None if error <= loose * largest + 1e-7 else f"error {error:.3g} of {largest:.3g} against eager mode"
    exact = exact.to(other.dtype)
    own, allowed = ((value - exact).abs().nan_to_num(0, 0, 0).amax().item() for value in (wide, other))
    roundings = ROUNDINGS[torch.finfo(theirs.dtype).bits // 8]
    bound = FACTOR * allowed + roundings * torch.finfo(theirs.dtype).eps * largest
    return None if own <= bound else f"error {own:.3g} instead of {allowed:.3g}, largest value {largest:.3g}"


@contextlib.contextmanager
def entered(way: str, device: str) -> Iterator[None]:
    """Enters the modes of a way to call a model."""
    with contextlib.ExitStack() as stack:
        if way == "inference":
            stack.enter_context(torch.inference_mode())
        elif way != "train":
            stack.enter_context(torch.no_grad())
        if way == "autocast":
            stack.enter_context(torch.autocast(device, torch.bfloat16))
        yield


def outcome(function: Callable[..., Any], model: torch.nn.Module, call: Call, way: str) -> dict[str, Any]:
    """Returns all that a caller may observe of a call, and of a backward after it."""
    args, kwargs = copy.deepcopy(call)
    torch.manual_seed(0)
    model.zero_grad(set_to_none=True)
    device = next((value.device.type for value in model.parameters()), "cpu")
    try:
        with entered(way, device):
            result = function(*args, **kwargs)
        seen = {"result": result, "inputs": (args, kwargs), "buffers": dict(model.named_buffers())}
        seen["random"] = [torch.get_rng_state(), *([torch.cuda.get_rng_state()] if device == "cuda" else [])]
        if way == "train":
            ends = [value for _, value in leaves(result) if isinstance(value, torch.Tensor) and value.requires_grad]
            if ends:
                sum(end.double().square().mean() for end in ends).backward()
            seen["gradients"] = {name: value.grad for name, value in model.named_parameters()}
    except Exception as error:
        return {"error": error}
    return seen


def difference(ours: dict[str, Any], theirs: dict[str, Any], exact: dict[str, Any]) -> str | None:
    """Returns the first difference of two outcomes; None if there is none."""
    if "error" in theirs:
        return None
    if "error" in ours:
        error = ours["error"]
        return f"{type(error).__name__}: {error}\n" + "".join(traceback.format_tb(error.__traceback__)[-6:])
    for part, expected in theirs.items():
        known = dict(leaves(exact.get(part)))
        found, wanted = list(leaves(ours[part], part)), list(leaves(expected, part))
        if [path for path, _ in found] != [path for path, _ in wanted]:
            return f"{part}: other structure: {[p for p, _ in found][:20]} instead of {[p for p, _ in wanted][:20]}"
        for (path, mine), (_, its) in zip(found, wanted, strict=True):
            if not isinstance(its, torch.Tensor) or not isinstance(mine, torch.Tensor):
                if mine is not its and mine != its:
                    return f"{path}: {mine!r} instead of {its!r}"
                continue
            kinds = [
                (value.dtype, tuple(value.shape), value.requires_grad, value.is_inference()) for value in (mine, its)
            ]
            strides = [
                [stride for size, stride in zip(value.shape, value.stride(), strict=True) if size > 1]
                for value in (mine, its)
            ]
            if kinds[0] != kinds[1]:
                return f"{path}: {kinds[0]} instead of {kinds[1]}"
            # AOTAutograd of PyTorch itself chooses the strides of gradients and of buffers.
            if part == "result" and its.numel() and strides[0] != strides[1]:
                return f"{path}: strides {mine.stride()} instead of {its.stride()}"
            if fault := close(mine.detach(), its.detach(), known.get(path.removeprefix(part))):
                return f"{path}: {fault}"
    return None


def wide(call: Call) -> Call:
    """Returns the arguments in float64."""
    return pytree.tree_map(
        lambda leaf: leaf.double() if isinstance(leaf, torch.Tensor) and leaf.is_floating_point() else leaf,
        copy.deepcopy(call),
    )


def on_device(call: Call, device: str) -> Call:
    """Returns the arguments on a device."""
    return pytree.tree_map(lambda leaf: leaf.to(device) if isinstance(leaf, torch.Tensor) else leaf, call)


def narrow(call: Call) -> Call:
    """Returns the arguments in bfloat16."""
    return pytree.tree_map(
        lambda leaf: leaf.bfloat16() if isinstance(leaf, torch.Tensor) and leaf.is_floating_point() else leaf,
        copy.deepcopy(call),
    )


def doubled(call: Call) -> Call:
    """Returns the arguments for twice as many examples, made of copies of the examples in another order."""

    def twice(leaf: Any) -> Any:
        return torch.cat([leaf.flip(-1), leaf]) if isinstance(leaf, torch.Tensor) and leaf.dim() > 1 else leaf

    return pytree.tree_map(twice, copy.deepcopy(call))


def moved(model: torch.nn.Module) -> torch.nn.Module:
    """Returns a copy whose weights are the next larger or smaller numbers."""
    moved = copy.deepcopy(model)
    with torch.no_grad():
        for weight in moved.parameters():
            if weight.is_floating_point():
                ends = torch.where(torch.rand(weight.shape, device=weight.device) < 0.5, torch.inf, -torch.inf)
                weight.copy_(torch.nextafter(weight, ends.to(weight.dtype)))
    return moved


COMPILERS: dict[str, Callable[[torch.nn.Module], Callable[..., Any]]] = {
    "compile": passnet.compile,
    "graphs": lambda model: passnet.compile(model, cuda_graphs=True),
    "frozen": lambda model: passnet.compile(model, freeze=True),
    "backend": lambda model: torch.compile(model, backend=passnet.backend.passnet),
    "eager": lambda model: torch.compile(model, backend="eager"),
    "aot_eager": lambda model: torch.compile(model, backend="aot_eager"),
}
WAYS = ("no_grad", "inference", "autocast", "bfloat16", "train")


def faults(model: torch.nn.Module, call: Call, how: str, way: str) -> str | None:
    """Returns the first difference between a compiled model and the model in one way of calls; None if there is none."""
    torch._dynamo.reset()
    models = [copy.deepcopy(model) for _ in range(3)]
    for own in models:
        own.train(way == "train")
    ours, theirs, exact = models
    if way == "bfloat16":
        ours, theirs, call = ours.bfloat16(), theirs.bfloat16(), narrow(call)
    function = COMPILERS[how](ours)
    calls = [call, call, call] if way in ("train", "autocast") else [call, call, doubled(call), doubled(call), call]
    exact.double()
    for number, given in enumerate(calls):
        expected = outcome(theirs, theirs, given, way)
        found = outcome(function, ours, given, way)
        if "error" in expected:
            if "error" not in found and number == 0:
                return None
            continue
        precise = outcome(exact, exact, wide(given), "no_grad" if way == "autocast" else way)
        precise = {} if "error" in precise else precise
        if reason := difference(found, expected, precise):
            own = difference(outcome(nudged := moved(theirs), nudged, given, way), expected, precise)
            return f"call {number}: {reason}" + (
                f" (in eager mode with weights one rounding away: {own})" if own else ""
            )
    return None


def check(recipe: Recipe, given: argparse.Namespace, channel: Any) -> None:
    """Sends a line for each way in which a model differs, then a line that it is done."""
    torch.set_num_threads(1)
    # Shows where a model hangs.
    faulthandler.dump_traceback_later(0.95 * given.limit)
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    try:
        built = recipe.build(Limits(PARAMETERS))
        model = built.model.eval().to(given.device)
        first = next(iter(built.calls))
        call = on_device((first.args, first.kwargs), given.device)
    except Exception as error:
        channel.send(f"not built: {type(error).__name__}: {str(error)[:200]}")
        return
    for how in given.how:
        for way in given.ways:
            channel.send(f"@{how}, {way}")
            try:
                fault = faults(model, call, how, way)
            except Exception:
                fault = "the check failed: " + "".join(traceback.format_exc().splitlines(keepends=True)[-8:])
            if fault:
                channel.send(f"{how}, {way}: {fault}")
    channel.send("done")


def lines_of(recipe: Recipe, given: argparse.Namespace) -> list[str]:
    """Returns the findings of one model, which is checked in a process of its own."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=check, args=(recipe, given, theirs))
    process.start()
    theirs.close()
    end, found, last = time.monotonic() + given.limit, [], "the model is built"
    try:
        while ours.poll(max(0.0, end - time.monotonic())):
            line = ours.recv()
            if line.startswith("@"):
                last = line[1:]
            elif line == "done":
                return found
            else:
                found.append(line)
                if line.startswith("not built"):
                    return found
        return [*found, f"no end after {given.limit:.0f} s while {last}"]
    except EOFError:
        return [*found, f"the process ended while {last}"]
    finally:
        process.kill()
        process.join()


def main() -> None:
    """Runs the program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("specs", nargs="*", default=[f"@{Path(__file__).with_name('libraries.txt')}"])
    parser.add_argument("--how", nargs="+", default=["compile", "backend"], choices=COMPILERS)
    parser.add_argument("--ways", nargs="+", default=WAYS, choices=WAYS)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--limit", type=float, default=600, help="seconds for one model")
    parser.add_argument("--first", type=int, default=0, help="number of the first model")
    parser.add_argument("--step", type=int, default=1, help="check every STEPth model")
    given = parser.parse_args()
    recipes = [recipe for spec, _ in listed(given.specs) for recipe in resolve(spec)][given.first :: given.step]
    wrong = 0
    for recipe in recipes:
        started = time.monotonic()
        found = lines_of(recipe, given)
        wrong += bool(found)
        print(f"{recipe.spec}: {'; '.join(found) or 'equal'} ({time.monotonic() - started:.0f} s)", flush=True)
    print(f"{len(recipes)} models, {wrong} differ")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
