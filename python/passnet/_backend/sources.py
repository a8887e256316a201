"""Loading of passes from text, without files."""

from __future__ import annotations

import dataclasses
import hashlib
import linecache
import os
import sys
import types
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from passnet._backend.omitted import note_omitted
from passnet._backend.process_lock import compiling
from passnet._passes.errors import PassError
from passnet._passes.load import Pass
from passnet.kernels._errors import KernelCompileError

MODULE_PREFIX = "passnet_author_"
"""Beginning of the names of modules whose whole text the author wrote. The rest of such a name is a hash of the text."""

_passes: dict[str, Pass | str] = {}


def load_passes(texts: Sequence[tuple[str, str]]) -> tuple[list[Pass], list[str]]:
    """Returns the passes of modules, given as pairs of a name and a text, and the reasons why some cannot be used.

    Equal texts share one module and its kernels.
    """
    with compiling:
        digests = {hashlib.sha256(text.encode()).hexdigest()[:24]: named for named in texts for text in [named[1]]}
        new = {digest: named for digest, named in digests.items() if digest not in _passes}
        # Compilers run in parallel. The longest texts take the most time and come first, so that no core has one of them at the end alone.
        order = sorted(new, key=lambda digest: -len(new[digest][1]))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            modules = dict(zip(order, pool.map(_module, order, (new[digest][1] for digest in order)), strict=True))
        # Patterns are traced one after another, because tracing patches functions of torch.
        for digest, (name, text) in new.items():
            _passes[digest] = _pass(name, text, modules[digest])
        loaded = [(name, _passes[digest]) for digest, (name, _) in digests.items()]
    passes = [_named(rule, name) for name, rule in loaded if isinstance(rule, Pass)]
    return passes, [fault for _, fault in loaded if isinstance(fault, str)]


def _named(rule: Pass, name: str) -> Pass:
    """Returns the pass under the name that it has for this graph. Both share all that was computed for the pass."""
    if rule.name == name:
        return rule
    named = dataclasses.replace(rule, name=name)
    vars(named).update(canonical=rule.canonical, omitted=vars(rule)["omitted"])
    return named


def _pass(name: str, text: str, module: types.ModuleType | str) -> Pass | str:
    if isinstance(module, str):
        return f"`{name}`: {module}"
    try:
        rule = Pass.of_module(name, module)
    except PassError as error:
        return str(error)
    note_omitted(rule, text)
    return rule


def _module(digest: str, text: str) -> types.ModuleType | str:
    """Returns the module of a text, or the reason why its kernels cannot be compiled."""
    name = f"{MODULE_PREFIX}{digest}"
    module = types.ModuleType(name)
    path = f"<passnet author {name}>"
    # Triton reads the source of its kernels from here, and tracebacks show its lines.
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    module.__file__ = path
    # Registered, because `inspect` and `pickle` look functions up by the name of their module.
    sys.modules[name] = module
    try:
        exec(compile(text, path, "exec"), module.__dict__)
    except (KernelCompileError, ImportError) as error:
        # There is no compiler or no Triton. PyTorch computes the operations that the pass would replace.
        return str(error)
    return module
