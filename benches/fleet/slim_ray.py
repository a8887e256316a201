"""Writes a wheel of Ray without the parts that a fleet does not use, for machines without a network.

    python -m pip download --no-deps --only-binary=:all: --python-version 3.12 --platform manylinux2014_x86_64 ray
    python benches/fleet/slim_ray.py ray-2.60.0-cp312-cp312-manylinux2014_x86_64.whl OUT

Left out are the jars for Java (32 of 79 MB), the pages of the dashboard, and the libraries RLlib and LLM. The rest is a valid wheel
with the same name. It needs the dependencies of Ray, of which jsonschema, jsonschema-specifications, referencing and rpds-py are rarely
installed next to PyTorch.
"""

from __future__ import annotations

import argparse
import zipfile
from pathlib import Path

LEFT_OUT = ("ray/jars/", "ray/dashboard/client/", "ray/rllib/", "ray/llm/")


def slim(wheel: Path, out: Path) -> Path:
    """Copies a wheel without what is left out. The list of its files (RECORD) is shortened alike."""
    out.mkdir(parents=True, exist_ok=True)
    target = out / wheel.name
    part = target.with_suffix(".part")
    with (
        zipfile.ZipFile(wheel) as source,
        zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as copy,
    ):
        for entry in source.infolist():
            if entry.filename.startswith(LEFT_OUT):
                continue
            content = source.read(entry)
            if entry.filename.endswith(".dist-info/RECORD"):
                lines = content.decode().splitlines(keepends=True)
                content = "".join(line for line in lines if not line.startswith(LEFT_OUT)).encode()
            copy.writestr(entry, content, zipfile.ZIP_DEFLATED)
    part.rename(target)
    return target


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    target = slim(arguments.wheel, arguments.out)
    before, after = (file.stat().st_size / 1e6 for file in (arguments.wheel, target))
    print(f"{target}: {after:.1f} MB of {before:.1f} MB")


if __name__ == "__main__":
    main()
