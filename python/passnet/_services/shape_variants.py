"""Finds the shapes of all values of a graph for other extents of its data inputs.

A captured graph contains its extents as constants: ``view(1, 197, 768)``. To get the same graph at batch size 4, the new extents are
propagated through the whole graph on the meta device, and integers in the arguments of shape operators are corrected. The target of a
view is factored against the shape of its operand, so that each extent of the result is known to be an extent, or a product of extents,
of the operand. Some ops make a tensor from integers alone (``expand``, ``zeros``, ``arange``, a bound of a slice). For these, an integer
that equals an old extent is replaced by the new extent. If a run fails at an op, the shapes up to this op are kept.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.fx

from passnet._passes.wire import Encoder, to_graph
from passnet._services.inputs import dtype_name

_VIEWS = {"view", "reshape", "_unsafe_view", "unflatten"}
_EXPANDS = {"expand", "broadcast_to"}
_MAKERS = {"zeros", "ones", "full", "empty", "randn", "rand", "arange", "eye", "new_zeros", "new_ones", "new_full"}
_MAKERS |= {"new_empty", "repeat", "interpolate", "linspace"}
# Largest number of assignments of a graph.
MOST = 10
_CASTS = {"to", "type", "softmax", "sum", "mean", "zeros", "ones", "full", "arange", "tensor", "cumsum"}


class Variants:
    """One graph under other extents and dtypes of its inputs."""

    def __init__(self, wire: dict[str, Any], metas: list[dict[str, Any]], shapes: list[list[int] | None]) -> None:
        self.graph = to_graph(_on_meta(wire))
        self.metas = metas
        self.nodes = [node for node in self.graph.nodes if node.op != "output"]
        pairs = zip(self.nodes, shapes, strict=True)
        self.shapes = {node.name: shape for node, shape in pairs if shape is not None}
        self.data = [index for index, meta in enumerate(metas) if _is_data(meta)]
        self.calls = _Calls()

    def assignments(self, most: int) -> list[dict[str, Any]]:
        """Returns the first `most` assignments, each with its ``symbols``, the ``shapes`` of all values (null if unknown), and the
        corrected ``literals``."""
        found: list[dict[str, Any]] = []
        for symbols, extents in self._candidates():
            if len(found) == most:
                break
            run = self._farthest(lambda lookup, extents=extents: self._run(extents, None, lookup), (True, False))
            shapes = [run.shape(node) for node in self.nodes]
            if any(s is not None and s != self.shapes.get(n.name) for s, n in zip(shapes, self.nodes, strict=True)):
                found.append({"symbols": symbols, "shapes": shapes, "literals": run.literals()})
        return found

    def cast(self, dtype: str) -> dict[str, Any]:
        """Returns the ``types`` of all values (null if unknown) with float32 inputs cast to a dtype, and the corrected ``literals``."""
        run = self._farthest(lambda casts: self._run({}, getattr(torch, dtype), False, casts), (False, True))
        return {"dtype": dtype, "types": [run.dtype(node) for node in self.nodes], "literals": run.literals()}

    def _farthest(self, run: Callable[[bool], _Run], choices: tuple[bool, bool]) -> _Run:
        """Returns the first run that completes the graph; if none does, the run that completes the most nodes."""
        first = run(choices[0])
        if len(first.results) >= len(self.nodes):
            return first
        return max((first, run(choices[1])), key=lambda run: len(run.results))

    def _run(self, extents: dict[int, list[int]], dtype: torch.dtype | None, lookup: bool, casts: bool = False) -> _Run:
        inputs = []
        for index, meta in enumerate(self.metas):
            kind = getattr(torch, meta["dtype"])
            kind = dtype if dtype is not None and kind == torch.float32 else kind
            inputs.append(torch.empty(extents.get(index, meta["shape"]), dtype=kind, device="meta"))
        run = _Run(self, lookup, dtype if casts else None)
        with torch.no_grad():
            run.go(inputs)
        return run

    def _candidates(self) -> list[tuple[dict[str, int], dict[int, list[int]]]]:
        """Returns at most :data:`MOST` assignments of batch size, length, and height with width."""
        shapes = {index: self.metas[index]["shape"] for index in self.data if self.metas[index]["shape"]}
        if not shapes:
            return []
        ranks = {len(shape) for shape in shapes.values()}
        batch = {index for index, shape in shapes.items() if shape[0] == next(iter(shapes.values()))[0]}
        old = next(iter(shapes.values()))[0]
        found = []
        for factor, scale in _SCHEDULE:
            extents, symbols = {}, {"batch": old * factor}
            for index, shape in shapes.items():
                new = list(shape)
                if index in batch:
                    new[0] = old * factor
                if len(shape) == 4 and scale != 1:
                    new[2:] = [max(32, round(x * scale / 32) * 32) for x in new[2:]]
                    symbols["height"], symbols["width"] = new[2:]
                elif len(shape) == 2 and 4 not in ranks and scale != 1:
                    new[1] = max(1, round(new[1] * scale))
                    symbols["length"] = new[1]
                extents[index] = new
            if extents != shapes and all(extents != other for _, other in found):
                found.append((symbols, extents))
        return found[:MOST]


# Pairs of factors: for the batch size, and for height and width or length.
_SCHEDULE = [(2, 1), (4, 1), (8, 1), (1, 0.5), (1, 0.75), (1, 1.5), (2, 0.5), (16, 0.5), (1, 2), (4, 0.75)]


class _Run(torch.fx.Interpreter):
    """One run. `results` has the values of all nodes before the first one that fails."""

    def __init__(self, variants: Variants, lookup: bool, cast: torch.dtype | None) -> None:
        super().__init__(torch.nn.Module(), garbage_collect_values=False, graph=variants.graph)
        self.old, self.lookup, self.cast, self.calls = variants.shapes, lookup, cast, variants.calls
        self.results: dict[str, Any] = {}
        self.corrected: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {}
        self.changes: dict[int, set[int]] = {}
        self.order = {node: index for index, node in enumerate(variants.nodes)}

    def go(self, inputs: list[torch.Tensor]) -> None:
        try:
            self.run(*inputs)
        except Exception:
            # Later values stay unknown.
            return

    def run_node(self, node: torch.fx.Node) -> Any:
        if node.op in ("call_function", "call_method"):
            args, kwargs = self._correct(node)
            if args != node.args or kwargs != node.kwargs:
                self.corrected[node.name] = (args, kwargs)
            load = functools.partial(torch.fx.node.map_arg, fn=self.env.__getitem__)
            args, kwargs = load(args), load(kwargs)
            result = self.calls.result(node.target, args, kwargs)
        else:
            result = super().run_node(node)
        self.results[node.name] = result
        if isinstance(result, torch.Tensor) and len(old := self.old.get(node.name, [])) == result.dim():
            for before, after in zip(old, result.shape, strict=True):
                if before != after:
                    self.changes.setdefault(before, set()).add(after)
        return result

    def shape(self, node: torch.fx.Node) -> list[int] | None:
        value = self.results.get(node.name)
        return list(value.shape) if isinstance(value, torch.Tensor) else None

    def dtype(self, node: torch.fx.Node) -> str | None:
        value = self.results.get(node.name)
        return dtype_name(value) if isinstance(value, torch.Tensor) else None

    def literals(self) -> list[dict[str, Any]]:
        """Returns the arguments of the corrected nodes in wire form. ``node`` is the index of a node, not counting inputs."""
        inputs = sum(node.op == "placeholder" for node in self.order)
        encoder = Encoder()
        for node in self.order:
            encoder.define(node)
        found = []
        for node, index in self.order.items():
            if node.name in self.corrected:
                args, kwargs = self.corrected[node.name]
                pairs = [[key, encoder.encode(arg)] for key, arg in kwargs.items()]
                found.append({"node": index - inputs, "args": [encoder.encode(a) for a in args], "kwargs": pairs})
        return found

    def _correct(self, node: torch.fx.Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
        args, kwargs = node.args, dict(node.kwargs)
        if self.cast is not None and name in _CASTS:
            swap = lambda arg: self.cast if arg is torch.float32 else arg  # noqa: E731
            return tuple(swap(arg) for arg in args), {key: swap(arg) for key, arg in kwargs.items()}
        if not self.changes or not args:
            return args, kwargs
        operand = args[0] if isinstance(args[0], torch.fx.Node) else None
        old, new = self._shapes(operand)
        if name in _VIEWS and name != "unflatten" and old is not None:
            return _with_sizes(args, lambda sizes: regroup(old, new, sizes)), kwargs
        if name in _EXPANDS and old is not None:
            return _with_sizes(args, lambda sizes: self._expanded(old, new, sizes)), kwargs
        if name == "getitem":
            return (args[0], self._bounds(args[1])), kwargs
        if name in _MAKERS and self.lookup:
            first = 1 if operand is not None else 0
            sizes = tuple(self._looked_up(arg, index == first) for index, arg in enumerate(args[first:], first))
            if "size" in kwargs:
                kwargs["size"] = self._looked_up(kwargs["size"], True)
            return args[:first] + sizes, kwargs
        return args, kwargs

    def _shapes(self, node: torch.fx.Node | None) -> tuple[list[int] | None, list[int]]:
        value = self.results.get(node.name) if node is not None else None
        if not isinstance(value, torch.Tensor) or node.name not in self.old:
            return None, []
        return self.old[node.name], list(value.shape)

    def _expanded(self, old: list[int], new: list[int], sizes: list[Any]) -> list[Any]:
        lead = len(sizes) - len(old)
        corrected = []
        for index, size in enumerate(sizes):
            axis = index - lead
            if not isinstance(size, int) or size == -1:
                corrected.append(size)
            elif axis >= 0 and old[axis] == size and new[axis] != old[axis]:
                corrected.append(new[axis])
            else:
                corrected.append(self._looked_up(size, index == 0) if self.lookup else size)
        return corrected

    def _bounds(self, index: Any) -> Any:
        if not self.lookup:
            return index
        if isinstance(index, slice):
            stop = self._looked_up(index.stop, False) if isinstance(index.stop, int) and index.stop > 1 else index.stop
            return slice(index.start, stop, index.step)
        return (
            tuple(self._bounds(item) if isinstance(item, slice) else item for item in index)
            if isinstance(index, tuple)
            else index
        )

    def _looked_up(self, arg: Any, is_first: bool) -> Any:
        """Returns the new extent for an argument that equals an old extent. The value 1 is replaced only in the position of the batch."""
        if isinstance(arg, list | tuple):
            return type(arg)(self._looked_up(item, is_first and index == 0) for index, item in enumerate(arg))
        if isinstance(arg, bool) or not isinstance(arg, int) or (arg == 1 and not is_first):
            return arg
        news = self.changes.get(arg, set())
        return next(iter(news)) if len(news) == 1 else arg


class _Calls:
    """Calls on the meta device, each made once: layers repeat, and an op takes milliseconds to compute its shape."""

    def __init__(self) -> None:
        self.results: dict[Any, Any] = {}

    def result(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not _has_tensor((args, kwargs)):
            # A device context slows each op down, so it is used only for ops without tensor arguments.
            with torch.device("meta"):
                return _call(target, args, kwargs)
        key = (target, _key(args), _key(kwargs))
        try:
            known = self.results.get(key)
        except TypeError:
            return _call(target, args, kwargs)
        if known is None:
            known = self.results[key] = _call(target, args, kwargs)
        # Returns copies, because an in-place op may change the shape of a kept value.
        return torch.fx.node.map_aggregate(known, _twin)


def _call(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return getattr(args[0], target)(*args[1:], **kwargs) if isinstance(target, str) else target(*args, **kwargs)


def _has_tensor(value: Any) -> bool:
    if isinstance(value, dict):
        value = tuple(value.values())
    return isinstance(value, torch.Tensor) or (isinstance(value, list | tuple) and any(map(_has_tensor, value)))


def _key(value: Any) -> Any:
    """Returns a key that is equal for arguments that lead to equal shapes. The key may be unhashable."""
    if isinstance(value, torch.Tensor):
        return (value.dtype, value.shape, value.stride())
    if isinstance(value, list | tuple):
        return (type(value), *(_key(item) for item in value))
    if isinstance(value, dict):
        return tuple((key, _key(item)) for key, item in value.items())
    if isinstance(value, slice):
        return (slice, _key((value.start, value.stop, value.step)))
    # With the type, because 1, 1.0 and True are equal but lead to different dtypes of a result.
    return (type(value), value)


def _twin(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=value.device)


def regroup(old: Sequence[int], new: Sequence[int], sizes: Sequence[Any]) -> list[Any]:
    """Returns the target of a view of `new`, given that `sizes` is the target for `old`.

    Extents of operand and target are matched in the smallest groups of equal product. In a group with one extent on each side, the
    target gets the new extent. If the product of a group has grown by a factor, the first extent of the target that can be scaled is
    multiplied by the factor. Without a match, `sizes` is returned, and the view fails if the sizes do not fit.
    """
    if not all(isinstance(size, int) for size in sizes) or list(old) == list(new):
        return list(sizes)
    known = -math.prod(size for size in sizes if size != -1) if -1 in sizes else 0
    whole = [math.prod(old) // -known if size == -1 and known else size for size in sizes]
    corrected: list[int] = []
    i = j = 0
    while i < len(old) or j < len(whole):
        first_i, first_j = i, j
        a = b = 1
        if i < len(old):
            a, i = old[i], i + 1
        if j < len(whole):
            b, j = whole[j], j + 1
        while a != b:
            if a < b and i < len(old):
                a, i = a * old[i], i + 1
            elif b < a and j < len(whole):
                b, j = b * whole[j], j + 1
            else:
                return list(sizes)
        corrected.extend(_scaled(list(old[first_i:i]), list(new[first_i:i]), whole[first_j:j]))
    return [-1 if size == -1 else extent for size, extent in zip(sizes, corrected, strict=True)]


def _scaled(old: list[int], new: list[int], sizes: list[int]) -> list[int]:
    if old == new or not sizes:
        return sizes
    if len(old) == len(sizes):
        return new
    total = math.prod(new)
    for index, size in enumerate(sizes):
        rest = math.prod(sizes[:index] + sizes[index + 1 :])
        if total % rest == 0 and (size != 1 or index == 0 or total // rest == 1):
            return [*sizes[:index], total // rest, *sizes[index + 1 :]]
    root = math.isqrt(total)
    # Height and width of a square image that were viewed as one extent.
    return [root, root] if len(sizes) == 2 and root * root == total else sizes


def _with_sizes(args: tuple[Any, ...], correct: Any) -> tuple[Any, ...]:
    if len(args) == 2 and isinstance(args[1], list | tuple):
        return (
            args[0],
            type(args[1])(correct(list(args[1]))) if isinstance(args[1], list) else tuple(correct(args[1])),
        )
    return (args[0], *correct(list(args[1:])))


def _is_data(meta: dict[str, Any]) -> bool:
    name = meta["name"]
    weight = "_self_" in name or "_instance_modules_" in name or name.startswith(("L_constant_", "w_"))
    return not weight


def _on_meta(wire: dict[str, Any]) -> dict[str, Any]:
    def change(value: Any) -> Any:
        if isinstance(value, dict):
            if "device" in value:
                return {"device": ["meta", None]}
            return {key: change(item) for key, item in value.items()}
        return [change(item) for item in value] if isinstance(value, list) else value

    nodes = [{**node, "args": change(node["args"]), "kwargs": change(node["kwargs"])} for node in wire["nodes"]]
    return {**wire, "nodes": nodes}
