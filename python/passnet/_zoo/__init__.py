"""Models by name, from a model library or a function in a file, each with inputs to run it on.

Weights are random and nothing is downloaded, because capture needs shapes and operations, not accuracy.
"""

from __future__ import annotations

import difflib
import fnmatch
import functools
import importlib
import importlib.util
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType

from passnet._summary import summary
from passnet._zoo import folders, variant
from passnet._zoo.recipe import BuildOptions, BuiltModel, Call, MissingLibraryError, Recipe, SpecError

__all__ = [
    "BuildOptions",
    "BuiltModel",
    "Call",
    "MissingLibraryError",
    "Recipe",
    "SpecError",
    "by_name",
    "listed",
    "named",
    "resolve",
    "with_own_folders",
]


# Package of each library, and the module of this package that builds its models.
_LIBRARIES = {
    "torchvision": "torchvision",
    "timm": "timm",
    "transformers": "huggingface",
    "torchaudio": "torchaudio",
    "diffusers": "diffusers",
    "segmentation_models_pytorch": "segmentation",
    "torch_geometric": "geometric",
    "sentence_transformers": "sentences",
}

# Largest number of functions of a file that a message lists.
_SHOWN = 20


def resolve(spec: str) -> Iterator[Recipe]:
    """Returns the models that `spec` names, at least one, in the order of their names. Raises :class:`SpecError`.

    ``LIBRARY:NAME``
        ``LIBRARY`` is a key of `_LIBRARIES`. ``NAME`` may contain ``*`` and ``?``.
    ``transformers:TYPE``, ``transformers:TYPE/CLASS``, either with ``?FIELD=VALUE&...``
        A model type such as ``bert`` with its default configuration except for the given fields. ``CLASS``, such as
        ``BertForMaskedLM``, selects another class of this type than its base model. Both may contain ``*``.
    ``FILE.py:FUNCTION``
        ``FUNCTION()`` returns the model, or a tuple of the model, a tuple of arguments, and (optional) a dict of keyword
        arguments.

    All forms may end in ``@dtype=DTYPE``, ``@batch=N``, ``@length=N`` (tokens of a text), ``@size=N`` (height and width of an image),
    ``@mode=train``, ``@mode=decode``, or several of these joined by ``&``. Text, image and decoding work for libraries that have them.
    """
    base, wanted = variant.split(spec)
    if wanted is not None:
        yield from (variant.varied(recipe, wanted, spec.removeprefix(base)) for recipe in resolve(base))
        return
    library, colon, rest = spec.rpartition(":") if ".py:" in spec else spec.partition(":")
    if not colon or not rest:
        raise SpecError(
            f"`{spec}`: write LIBRARY:NAME with one of {', '.join(_LIBRARIES)}, or FILE.py:FUNCTION, or @LIST"
        )
    if library.endswith(".py"):
        yield _from_file(spec, Path(library), rest)
        return
    if library not in _LIBRARIES:
        raise SpecError(f"`{spec}`: no library `{library}`; use one of {', '.join(_LIBRARIES)}, or FILE.py:FUNCTION")
    if importlib.util.find_spec(library) is None:
        raise MissingLibraryError(f"`{spec}`: the Python package `{library}` is not installed; pip install {library}")
    try:
        module = importlib.import_module(f"passnet._zoo.{_LIBRARIES[library]}")
    # The import of a library that was built for another PyTorch can raise various exceptions.
    except (ImportError, RuntimeError, AttributeError, OSError) as error:
        raise MissingLibraryError(
            f"`{spec}`: the Python package `{library}` cannot be imported: {summary(error)}"
        ) from error
    yield from module.recipes(spec, rest)


def with_own_folders(recipes: Iterable[Recipe], ledger: Path) -> list[Recipe]:
    """Returns the recipes with a folder for each model, in a directory with this ledger of earlier captures (:mod:`passnet._zoo.folders`)."""
    return folders.distinct(recipes, folders.recorded(ledger), _LIBRARIES)


def listed(specs: Iterable[str], above: tuple[str, ...] = ()) -> Iterator[tuple[str, SpecError | None]]:
    """Returns the specifications, with the lines of a file in place of ``@FILE``. Text after ``#`` is a comment.

    ``@FILE`` stays, with the error, where the file cannot be read or is one of the lists `above` it. One bad line then stops no other
    line.
    """
    for spec in specs:
        if not spec.startswith("@"):
            yield spec, None
            continue
        path = os.path.realpath(spec[1:])
        try:
            if path in above:
                raise SpecError(f"`{spec}`: the list names itself; remove this line")
            lines = _lines(Path(spec[1:]))
        except SpecError as error:
            yield spec, error
        else:
            yield from listed(lines, (*above, path))


def named(spec: str, library: str, pattern: str, names: Sequence[str]) -> list[str]:
    """Returns the names that match `pattern`. If none matches, raises :class:`SpecError`, whose message has similar names."""
    found = sorted(name for name in names if fnmatch.fnmatchcase(name, pattern))
    if found:
        return found
    close = difflib.get_close_matches(pattern, names, n=3, cutoff=0.5)
    hint = f"; did you mean {' or '.join(close)}?" if close else f"; {library}:* names all {len(names)}"
    raise SpecError(f"`{spec}`: {library} has no model of this name{hint}")


def by_name(
    spec: str,
    library: str,
    pattern: str,
    names: Sequence[str],
    build: Callable[[str, BuildOptions], BuiltModel],
    domain: str,
    variants: Iterable[str] = (),
) -> Iterator[Recipe]:
    """Yields a recipe for each name of a library's models that matches `pattern`. Raises :class:`SpecError` if none matches.

    `build` builds the model of a name. `domain` is the value of ``heuristic_tag``, and `variants` are those that `build` implements.
    """
    for name in named(spec, library, pattern, names):
        metadata = {"source": library, "heuristic_tag": domain, "model_name": name}
        made = functools.partial(build, name)
        yield Recipe(f"{library}:{name}", f"{library}/{name}", metadata, made, variants=frozenset(variants))


def _lines(path: Path) -> list[str]:
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"`@{path}`: cannot read the list: {error}") from error
    lines = [line.partition("#")[0].strip() for line in text.splitlines()]
    return [line for line in lines if line]


def _defined(module: ModuleType, wanted: str) -> str:
    """Returns the names of the functions and classes that a module itself defines, with those first that resemble `wanted`, as text."""
    names = [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and callable(value) and getattr(value, "__module__", None) == module.__name__
    ]
    if not names:
        return "; it defines no function; write one that returns the model"
    close = difflib.get_close_matches(wanted, names, n=3, cutoff=0.5)
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    more = ", ..." if len(names) > _SHOWN else ""
    return f"{hint or ';'} it defines {', '.join(names[:_SHOWN])}{more}"


def _from_file(spec: str, path: Path, function: str) -> Recipe:
    if not path.is_file():
        raise SpecError(f"`{spec}`: {path} is not a file")

    def build(_options: BuildOptions) -> BuiltModel:
        loader = importlib.util.spec_from_file_location(path.stem, path)
        if loader is None or loader.loader is None:
            raise SpecError(f"`{spec}`: {path} is not a Python file")
        module = importlib.util.module_from_spec(loader)
        loader.loader.exec_module(module)
        made = getattr(module, function, None)
        if made is None:
            raise SpecError(f"`{spec}`: {path} defines no `{function}`{_defined(module, function)}")
        made = made()
        model, args, kwargs = (*made, (), {})[:3] if isinstance(made, tuple) else (made, (), {})
        if not callable(model):
            raise SpecError(f"`{spec}`: `{function}` returned {type(model).__name__}, which is not a model")
        return BuiltModel(
            model, [Call("user", tuple(args) if isinstance(args, list | tuple) else (args,), dict(kwargs))]
        )

    metadata = {"source": "user", "model_name": function}
    return Recipe(spec, f"{path.stem}/{function}", metadata, build, file=os.path.realpath(path))
