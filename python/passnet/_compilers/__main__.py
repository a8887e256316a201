"""Prints the reason why a compiler cannot run. Prints nothing if it can."""

import os
import sys
from pathlib import Path

from passnet._compilers import problem

name, device, *file = sys.argv[1:]
source = Path(file[0]).read_text() if file else ""
# A compiler may print text while it is imported. It goes to stderr, so that stdout holds only the answer.
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
if reason := problem(name, device, source):
    answers.write(" ".join(reason.split()) + "\n")
