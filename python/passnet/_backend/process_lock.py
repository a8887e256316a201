"""The lock of all compilation in this process.

Tracing by FX, which AOTAutograd and passes use, patches `torch.nn.Module` and functions of torch for the whole process. Two traces at
the same time leave these patches behind. Dynamo compiles under a lock of its own, so PassNet takes the same one: with a second lock,
two threads could each hold one and wait for the other.

Take this lock last, and run no backward while it is held: on a GPU, the backward runs in another thread, which may need the lock.
"""

from __future__ import annotations

import contextlib
import threading
from typing import Any

from torch._dynamo import convert_frame

compiling: contextlib.AbstractContextManager[Any] = getattr(convert_frame, "compile_lock", None) or threading.RLock()
"""Held by the only thread that traces or compiles. The same thread may take it several times."""
