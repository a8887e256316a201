"""Pass directories: modules with `pattern`, `replacement_args`, `replacement_func`, and their order."""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import importlib
import importlib.machinery
import importlib.util
import inspect
import itertools
import json
import os
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch.fx

from passnet._passes.canonical import CanonicalGraph
from passnet._passes.errors import PassError
from passnet._passes.trace import trace_pattern

ORDER_FILE = "sorted_output_pass_rule_names.json"
# Passes that were written for the upstream harness import their helper modules as `pass_dir.helper`.
_UPSTREAM_PACKAGE = "pass_dir"

_numbers = itertools.count()


@dataclass(frozen=True)
class Pass:
    """One pass, ready to be applied."""

    name: str
    pattern: torch.fx.Graph
    parameters: tuple[str, ...]
    replacement_args: Callable[..., Any]
    replacement: Callable[..., Any]
    outputs: tuple[torch.fx.Node, ...]
    returns_sequence: bool

    @functools.cached_property
    def canonical(self) -> CanonicalGraph:
        """The pattern in the canonical form that the matcher compares with graphs."""
        return CanonicalGraph(self.pattern)

    @functools.cached_property
    def digest(self) -> str:
        """Hash of the code of the pass, equal in all processes. A pass that was made from another pass (`origin`) has the hash of that pass."""
        if (origin := vars(self).get("origin")) is not None:
            return origin.digest
        module = self.replacement_args.__module__
        file = Path(getattr(sys.modules.get(module), "__file__", None) or module)
        # Modules in the same folder may be helpers, so all are hashed. A module without a file has the hash of its text in its name.
        files = sorted(file.parent.glob("*.py")) if file.is_file() else []
        parts = [self.canonical.text, file.name if files else module]
        content = [part.encode() for part in parts] + [path.read_bytes() for path in files]
        return hashlib.sha256(b"\0".join(content)).hexdigest()

    @classmethod
    def of_module(cls, name: str, module: Any) -> Pass:
        """Reads the three functions of a module. Raises `PassError`."""
        functions = []
        for wanted in ("pattern", "replacement_args", "replacement_func"):
            function = getattr(module, wanted, None)
            if not callable(function):
                raise PassError("import", name, f"pass `{name}` has no function `{wanted}`")
            functions.append(function)
        pattern, replacement_args, replacement_func = functions
        with _blaming(name, "`pattern` of pass `{}` cannot be traced"):
            graph = trace_pattern(pattern)
        with _blaming(name, "`replacement_func` of pass `{}` failed"):
            replacement, again = replacement_func(), replacement_func()
        if not _is_same(replacement, again):
            message = f"`replacement_func` of pass `{name}` must return the same object each time, such as a function"
            raise PassError("import", name, f"{message} defined at the top of the module")
        if not callable(replacement):
            message = f"`replacement_func` of pass `{name}` must return a function"
            raise PassError("import", name, f"{message}, not a `{type(replacement).__name__}`")
        placeholders = [node for node in graph.nodes if node.op == "placeholder"]
        result = graph.output_node().args[0]
        returns_sequence = isinstance(result, (tuple, list))
        outputs = tuple(result) if returns_sequence else (result,)
        _check_pattern(name, placeholders, outputs)
        return cls(
            name=name,
            pattern=graph,
            parameters=tuple(str(node.target) for node in placeholders),
            replacement_args=replacement_args,
            replacement=_named(replacement),
            outputs=outputs,
            returns_sequence=returns_sequence,
        )

    def bind_arguments(self, values: dict[str, Any]) -> tuple[Any, ...]:
        """Returns the arguments of the replacement for the values of the pattern's parameters.

        `replacement_args` gets the values by name if its parameters are some of the pattern's parameters, else by position.
        """
        with _blaming(self.name, "`replacement_args` of pass `{}` failed", stage="rewrite"):
            wanted = inspect.signature(self.replacement_args).parameters
            # `*values` takes all values, even if the pattern has a parameter of that name.
            is_variadic = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in wanted.values())
            if not is_variadic and all(name in values for name in wanted):
                result = self.replacement_args(**{name: values[name] for name in wanted})
            else:
                result = self.replacement_args(*values.values())
        return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def _is_same(one: Any, other: Any) -> bool:
    """Returns whether two replacements are one object. Python makes a new object each time that a method is read from its class or instance."""
    if isinstance(one, types.MethodType) and isinstance(other, types.MethodType):
        return one.__func__ is other.__func__ and one.__self__ is other.__self__
    return one is other


def _named(replacement: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a replacement that can be the target of a node. FX asks for its name and its module.

    Instances and `functools.partial` have no name, and `apply` of an autograd function has no module. A method is not found by its name in
    its module.
    """
    is_method = isinstance(replacement, types.MethodType)
    if not is_method and hasattr(replacement, "__name__") and getattr(replacement, "__module__", None) is not None:
        return replacement

    def call(*args: Any, **kwargs: Any) -> Any:
        return replacement(*args, **kwargs)

    return call


def _check_pattern(name: str, placeholders: list[torch.fx.Node], outputs: Any) -> None:
    for output in outputs:
        if not isinstance(output, torch.fx.Node) or output.op == "placeholder":
            raise PassError("import", name, f"`pattern` of pass `{name}` must return what it computes, not `{output}`")
    for node in placeholders:
        if not node.users:
            raise PassError("import", name, f"`pattern` of pass `{name}` does not use its parameter `{node.target}`")


@dataclass(frozen=True)
class PassDirectory:
    """The passes of a directory in their order of application."""

    path: Path
    package: str
    passes: tuple[Pass, ...]

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PassDirectory:
        """Imports all passes of a directory. Raises `PassError`."""
        root = Path(path).resolve()
        names = _order(root)
        package = _new_package(root)
        _check_plain_imports(root)
        modules = [_import(package, name) for name in names]
        return cls(root, package, tuple(Pass.of_module(*named) for named in zip(names, modules, strict=True)))

    def uses(self, predicate: Callable[[Any], bool]) -> bool:
        """Returns whether any module of the directory, including helpers, has a global for which the predicate is true."""
        names = (
            f"{prefix}{stem}"
            for stem in _stems(self.path)
            for prefix in (f"{self.package}.", f"{_UPSTREAM_PACKAGE}.", "")
        )
        modules = [sys.modules[name] for name in names if name in sys.modules]
        return any(predicate(value) for module in modules for value in list(vars(module).values()))


def _stems(root: Path) -> set[str]:
    return {entry.stem for entry in root.iterdir()}


def _order(root: Path) -> list[str]:
    path = root / ORDER_FILE
    try:
        names = json.loads(path.read_text())
    except OSError as error:
        raise PassError("import", None, f"cannot read `{ORDER_FILE}`: {error.strerror}") from None
    except ValueError as error:
        raise PassError("import", None, f"`{ORDER_FILE}` is not JSON: {error}") from None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise PassError("import", None, f'`{ORDER_FILE}` must be a list of file stems, such as ["fuse_add_relu"]')
    names = [name.removesuffix(".py") for name in names]
    for name in names:
        if not name.isidentifier():
            raise PassError("import", None, f"`{ORDER_FILE}`: `{name}` is not the stem of a Python file")
        if not (root / f"{name}.py").is_file():
            raise PassError("import", name, f"`{ORDER_FILE}` names `{name}`, but there is no `{name}.py`")
    return names


_loaded: set[Path] = set()


class _SourceLoader(importlib.machinery.SourceFileLoader):
    """Compiles a module from its source at each import.

    Python uses a file in `__pycache__` if the time of the source, in seconds, and its size have not changed. Two edits of a kernel can
    have the same time and size. Also, the rules for passes check sources and not bytecode, so only sources may run.
    """

    def get_code(self, fullname: str) -> types.CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)

    def exec_module(self, module: types.ModuleType) -> None:
        with _unbounded_caches(vars(module)):
            super().exec_module(module)


def _new_package(root: Path) -> str:
    """Makes a package for the directory's modules, and returns its name. Relative and plain imports find helpers.

    The directory is the last entry of `sys.path`, so that no file in it replaces an installed module. It stays there for imports at
    run time. Helpers of an earlier directory with the same names are removed from `sys.modules`.
    """
    package = types.ModuleType(f"passnet_passes_{next(_numbers)}")
    package.__path__ = [str(root)]
    alias = types.ModuleType(_UPSTREAM_PACKAGE)
    alias.__path__ = [str(root)]
    if _loaded:
        _forget_earlier(_stems(root))
    sys.path.append(str(root))
    sys.path_importer_cache[str(root)] = importlib.machinery.FileFinder(str(root), (_SourceLoader, [".py"]))
    _loaded.add(root)
    sys.modules[package.__name__] = package
    sys.modules[_UPSTREAM_PACKAGE] = alias
    importlib.invalidate_caches()
    return package.__name__


def _forget_earlier(stems: set[str]) -> None:
    """Removes earlier directories from `sys.path`, and their helpers of these names from `sys.modules`."""
    earlier = {str(place) for place in _loaded}
    sys.path[:] = [entry for entry in sys.path if entry not in earlier]
    for name, module in list(sys.modules.items()):
        top = name.partition(".")[0]
        is_helper = top in stems and str(Path(getattr(module, "__file__", None) or "").parent) in earlier
        if is_helper or name.startswith(f"{_UPSTREAM_PACKAGE}."):
            del sys.modules[name]


def _check_plain_imports(root: Path) -> None:
    """Raises `PassError` if `import helper` would find an installed module instead of `helper.py` of the directory.

    The rules for passes check `helper.py`, so no other module may run in its place.
    """
    files = {path.stem: path for path in sorted(root.glob("*.py"))}
    for stem, path in files.items():
        for name in sorted(_plain_imports(path) & files.keys()):
            found = sys.modules[name] if name in sys.modules else importlib.util.find_spec(name)
            origin = getattr(found, "__file__", None) or getattr(found, "origin", None) or ""
            if Path(origin) != files[name]:
                message = f"`import {name}` in `{stem}.py` finds an installed module, not `{name}.py` of this directory"
                raise PassError("import", stem, f"{message}; write `from . import {name}`, or rename the file")


def _plain_imports(path: Path) -> set[str]:
    """Returns the top-level names of the modules that a file imports absolutely; no names if the file is not valid Python."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return set()
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module.partition(".")[0])
    return names


def _import(package: str, name: str) -> types.ModuleType:
    with _blaming(name, "pass `{}` cannot be imported"):
        return importlib.import_module(f"{package}.{name}")


@contextlib.contextmanager
def _unbounded_caches(namespace: dict[str, Any]) -> Iterator[None]:
    """Makes `functools.lru_cache` keep all results of functions that a module defines meanwhile.

    A cache that forgets results tells a call what earlier calls asked for: the result for 1.0 is that for an equal key, such as 1, until
    it is forgotten. A pass could count calls with that. Without a limit, each call gets the same results.
    """
    original = functools.lru_cache

    def lru_cache(maxsize: Any = 128, typed: bool = False) -> Any:
        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            is_own = getattr(function, "__globals__", None) is namespace
            return original(maxsize=None if is_own else limit, typed=typed)(function)

        limit = 128 if callable(maxsize) else maxsize
        return decorate(maxsize) if callable(maxsize) else decorate

    functools.lru_cache = lru_cache
    try:
        yield
    finally:
        functools.lru_cache = original


@contextlib.contextmanager
def _blaming(name: str, message: str, stage: str = "import") -> Iterator[None]:
    """Turns any exception of the code of a pass, including `SystemExit`, into a `PassError` with that cause."""
    try:
        yield
    except (PassError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise PassError(stage, name, message.format(name)) from error
