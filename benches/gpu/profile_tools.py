"""Calls the tool `profile` with the tools of the CUDA toolkit through an environment; see `profile_tools.sh`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from passnet.env import Env

ROOT = Path(__file__).resolve().parents[2]
TASK = "relu-add"
FLAGS = ["--filter", TASK, "--trials", "10", "--warmup", "1", "--paths", "direct", "--profile-tools"]
STORE = "tl.store(out_ptr + i, "


def call(name: str, **arguments: Any) -> dict[str, Any]:
    """An action with one tool call."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": "", "tool_calls": [{"id": "0", "type": "function", "function": function}]}


def profile(env: Env) -> tuple[str, dict[str, Any]]:
    """The text of the tool, and the line of it with the report of the tools of the toolkit."""
    [message] = env.step(call("profile")).observation
    [line] = [line for line in message["content"].splitlines() if line.startswith('{"schema_version"')]
    return message["content"], json.loads(line)


def problems(name: str, report: dict[str, Any]) -> list[str]:
    """Lists the faults of a report."""
    found = []
    ncu, memcheck = report["ncu"], report["memcheck"]
    if "report" not in ncu and "ERR_NVGPUCTRPERM" not in ncu["unavailable"]:
        found.append(f"{name}: no kernels: {ncu['unavailable']}")
    if "report" in ncu and any(launch["duration_ns"] is None for launch in ncu["report"]):
        found.append(f"{name}: a launch has no duration")
    if "report" not in memcheck:
        found.append(f"{name}: no memory check: {memcheck['unavailable']}")
    elif (memcheck["report"]["errors"] > 0) != (name == "wrong"):
        found.append(f"{name}: {memcheck['report']['errors']} wrong accesses")
    return found


def main(out: Path, device: str) -> int:
    folder = ROOT / "attacks/honest/triton-pointwise"
    files = {path.name: path.read_text() for path in folder.iterdir() if path.name != "meta.json"}
    assert files["fuse.py"].count(STORE) == 1
    wrong = {**files, "fuse.py": files["fuse.py"].replace(STORE, "tl.store(out_ptr + i + n, ")}
    failed = []
    with Env(ROOT / "attacks/tasks", flags=["--device", device, *FLAGS]) as env, out.open("w") as lines:
        for name, passes in {"eager": {}, "right": files, "wrong": wrong}.items():
            env.reset(TASK)
            for file, text in passes.items():
                env.step(call("file_editor", command="create", path=f"/passes/{file}", file_text=text))
            text, report = profile(env)
            print(f"== {name}\n{text}", flush=True)
            lines.write(json.dumps({"case": name, **report}) + "\n")
            failed += problems(name, report)
    print("\n".join(failed) or "all reports are as expected")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
