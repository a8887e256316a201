"""Parses answers of one turn: the files of a pass directory in fenced blocks.

A block begins with three backticks, a language, and the name of the file. Blocks without a name are not files. The order of the blocks
is the order of application, unless an answer contains the order file.
"""

from __future__ import annotations

import json
import re

ORDER_FILE = "sorted_output_pass_rule_names.json"
INSTRUCTIONS = """# Answer

There are no tools this time. Answer once, with every file of the pass directory in a fenced block that names it:

```python fuse.py
...
```

Passes are applied in the order of their blocks. Only the last block of a name counts. There is one evaluation, of all graphs."""
_BLOCK = re.compile(r"^```[\w+-]*[ \t]+(?P<name>[\w.-]+)[ \t]*\n(?P<text>.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)


def files_of(answer: str) -> dict[str, str]:
    """Returns the files of an answer by name; empty if it has none.

    Text before `</think>` is reasoning and has no files.
    """
    answer = answer.rpartition("</think>")[2]
    files: dict[str, str] = {}
    for block in _BLOCK.finditer(answer):
        files.pop(block["name"], None)
        files[block["name"]] = block["text"]
    passes = [
        name.removesuffix(".py") for name, text in files.items() if name.endswith(".py") and "def pattern" in text
    ]
    if files and ORDER_FILE not in files:
        files[ORDER_FILE] = json.dumps(passes) + "\n"
    return files
