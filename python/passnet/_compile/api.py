"""`passnet.compile`: its options, and the compiled model that it returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from passnet._compile.compiled import Compiled
from passnet._compile.options import DEFAULT_LIMIT, Options, Paths


def compile(
    model: Callable[..., Any],
    *,
    passes: Paths = (),
    author: str | None = "fuse",
    cuda_graphs: bool | Literal["auto"] = False,
    verify: bool = True,
    freeze: bool = False,
    training: bool = True,
    then: str | None = None,
    cache_dir: str | None = None,
    limit: int = DEFAULT_LIMIT,
) -> Compiled:
    """Compiles a module or a function for inference and training; each kind of call is compiled when it first comes.

    A kind of call is the structure of the arguments, the types, sizes, strides and devices of their tensors, the values of
    all else, and PyTorch's modes. Later calls of that kind run the compiled graph; a call that cannot be compiled runs the
    model itself, and `Compiled.report` says why.

    - `passes`: directories of passes, which are applied first.
    - `author`: `"fuse"`, the built-in author, writes passes for what they leave; `None` writes none.
    - `cuda_graphs`: whether calls on a CUDA device become CUDA graphs; `"auto"` takes the faster.
    - `verify`: compares each rewritten region with PyTorch at the first call, times both, and drops what is wrong or loses.
    - `freeze`: folds batch norm into weights, and lays images and weights out with channels innermost where that is faster. The
      weights are constants then, until `refresh`.
    - `training`: whether calls that want gradients are compiled, forward and backward; otherwise the model itself runs.
    - `then`: `"inductor"` gives what the passes leave to TorchInductor, where that is faster; for calls without gradients.
    - `cache_dir`: directory for what can be used again in other processes (default: `compile` in `PASSNET_CACHE`).
    - `limit`: number of kinds of calls that are compiled; further ones run the model itself.

    Raises `ValueError` for another value of an option, and `PassError` for a directory that cannot be loaded.
    """
    options = Options.of(
        passes,
        author=author,
        cuda_graphs=cuda_graphs,
        verify=verify,
        freeze=freeze,
        training=training,
        then=then,
        cache_dir=cache_dir,
        limit=limit,
    )
    # Kinds of calls are checked once; compiling again is with the options given last.
    return Compiled(model.model if type(model) is Compiled else model, options)
