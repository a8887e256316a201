"""`passnet.compile`: its options, and the compiled model that it returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from passnet._compile.compiled import Compiled
from passnet._compile.keywords import suggests_keywords
from passnet._compile.methods import warn_of_hidden
from passnet._compile.options import DEFAULT_LIMIT, Options, Paths


@suggests_keywords
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
    """Compiles a module or a function for inference and training. Each kind of call is compiled at its first call.

    Two calls are of the same kind if they have the same structure of arguments, the same types, sizes, strides and devices of
    tensors, the same other values, and the same modes of PyTorch. Later calls of a kind run its compiled graph. A call that
    cannot be compiled runs the model itself, and `Compiled.report` says why.

    - `passes`: pass directories, which are applied first.
    - `author`: `"fuse"`, the built-in author, writes passes for the remaining operations; `None` writes none.
    - `cuda_graphs`: whether calls on a CUDA device become CUDA graphs; `"auto"` uses them if they are faster.
    - `verify`: compares each rewritten region with PyTorch at the first call, times both, and drops wrong and slower regions.
    - `freeze`: computes once all values that depend only on parameters and buffers, folds batch norm into weights, and places
      the channels of images and weights innermost if that is faster. If a weight changes, the model is compiled again.
    - `training`: whether calls that require gradients are compiled, forward and backward; otherwise the model itself runs.
    - `then`: `"inductor"` lets TorchInductor compile the rest if that is faster, in calls without gradients.
    - `cache_dir`: directory for passes that other processes can reuse (default: `compile` in `PASSNET_CACHE`).
    - `limit`: largest number of kinds of calls that are compiled; calls of further kinds run the model itself.

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
    # A compiled model is not compiled twice: its model is compiled again with these options.
    compiled = Compiled(model.model if type(model) is Compiled else model, options)
    warn_of_hidden(compiled.model)
    return compiled
