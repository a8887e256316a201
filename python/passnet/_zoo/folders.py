"""Folders of models: models that differ never share one."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from passnet._zoo.recipe import Recipe


def distinct(recipes: Iterable[Recipe], owners: dict[str, str], libraries: Iterable[str]) -> list[Recipe]:
    """Returns the recipes with a folder for each model.

    Models of a file are below a folder with the name of the file. If several files have this name, or a library has it, eight digits of the
    SHA-256 of the file's path follow it. `owners` has the files whose models are already in these folders (:func:`recorded`): such a file
    keeps its folder. Of two specifications of the same model, only the first stays.
    """
    given = list(recipes)
    files: dict[str, set[str]] = {name: {""} for name in libraries}
    for recipe in given:
        if recipe.file:
            files.setdefault(_top(recipe.name), set()).add(recipe.file)
    found: dict[str, Recipe] = {}
    for recipe in given:
        top = _top(recipe.name)
        owner = owners.get(top)
        if recipe.file and owner != recipe.file and (owner is not None or len(files[top]) > 1):
            digits = hashlib.sha256(recipe.file.encode()).hexdigest()[:8]
            recipe = dataclasses.replace(recipe, name=f"{top}-{digits}{recipe.name.removeprefix(top)}")
        found.setdefault(recipe.name, recipe)
    return list(found.values())


def recorded(ledger: Path) -> dict[str, str]:
    """Returns the file whose models are in each folder, according to a ledger of captures. Lines that cannot be read are skipped."""
    owners: dict[str, str] = {}
    try:
        lines = ledger.read_text(errors="replace").splitlines()
    except OSError:
        return {}
    for line in lines:
        if ".py:" not in line:
            continue
        try:
            model: dict[str, Any] = json.loads(line)["model"]
            path = model["spec"].rpartition(".py:")[0] + ".py"
            top = _top(model["folders"][0])
        except (ValueError, KeyError, IndexError, TypeError):
            continue
        # A folder with digits belongs to one file anyway.
        if top == Path(path).stem:
            owners[top] = os.path.realpath(path)
    return owners


def _top(folder: str) -> str:
    return folder.partition("/")[0]
