"""The PEP 517 build backend: maturin, after cargo has built the command `passnet`.

maturin builds the extension module and packs `python/passnet.data/scripts` as scripts. It does not build the command that
belongs there, so this module does, before it hands over. `pip install --config-settings=profile=dev .` builds both without optimisation.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import maturin
from maturin import get_requires_for_build_editable, get_requires_for_build_sdist, get_requires_for_build_wheel

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

_ROOT = Path(__file__).resolve().parents[1]
_SCRIPTS = _ROOT / "python" / "passnet.data" / "scripts"

Settings = Mapping[str, Any] | None


def build_wheel(wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    _build_command(config_settings)
    return maturin.build_wheel(wheel_directory, _for_maturin(config_settings), metadata_directory)


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    _build_command(config_settings)
    return maturin.build_editable(wheel_directory, _for_maturin(config_settings), metadata_directory)


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    _SCRIPTS.mkdir(parents=True, exist_ok=True)
    return maturin.build_sdist(sdist_directory, config_settings)


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Settings = None) -> str:
    # maturin wants the folder even where it only writes metadata.
    _SCRIPTS.mkdir(parents=True, exist_ok=True)
    return maturin.prepare_metadata_for_build_wheel(metadata_directory, _for_maturin(config_settings))


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def _profile(settings: Settings) -> str:
    return str((settings or {}).get("profile", "release"))


def _for_maturin(settings: Settings) -> dict[str, Any]:
    kept = {name: value for name, value in (settings or {}).items() if name != "profile"}
    return {"maturin.build-args": f"--profile {_profile(settings)}", **kept}


def _build_command(settings: Settings) -> None:
    """Builds `passnet` with cargo and puts it where maturin looks for scripts."""
    profile = _profile(settings)
    environment = maturin._get_env() or dict(os.environ)
    command = ["cargo", "build", "--locked", "--profile", profile, "--package", "passnet", "--bin", "passnet"]
    print("Running `{}`".format(" ".join(command)), flush=True)
    run = subprocess.run(command, cwd=_ROOT, env=environment, stdout=sys.stderr, check=False)
    if run.returncode != 0:
        sys.exit("error: cargo could not build the command `passnet`; its messages are above")
    target = Path(environment.get("CARGO_TARGET_DIR") or _ROOT / "target")
    built = target / os.environ.get("CARGO_BUILD_TARGET", "") / ("debug" if profile == "dev" else profile) / "passnet"
    _SCRIPTS.mkdir(parents=True, exist_ok=True)
    shutil.copy2(built, _SCRIPTS / "passnet")
