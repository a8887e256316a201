"""``python -m passnet ...``: the command `passnet` with this interpreter."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from passnet._command import CommandNotFoundError, find_command


def main() -> None:
    """Replaces this process with the command. The command's workers run in this interpreter unless `PASSNET_PYTHON` names another."""
    try:
        command = find_command()
    except CommandNotFoundError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(3)
    if Path(command).parent != Path(sys.executable).parent:
        # The command looks for an interpreter in its own folder, where there is none after `pip install --user`.
        os.environ.setdefault("PASSNET_PYTHON", sys.executable)
    sys.stdout.flush()
    os.execv(command, ["passnet", *sys.argv[1:]])


if __name__ == "__main__":
    main()
