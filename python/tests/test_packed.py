"""The reader of compressed logs, on files of this repository."""

import json

import pytest

from agent_command import ROOT
from packed import unpacked

PACKED = (ROOT / "recipes/sft/teacher/cpu-4.jsonl.zst").read_bytes()


def test_a_file_is_read_to_its_end():
    lines = unpacked(PACKED).splitlines()
    # As many as its README says.
    assert len(lines) == 161
    assert all(json.loads(line) for line in lines)


def test_frames_follow_each_other():
    assert unpacked(PACKED + PACKED) == 2 * unpacked(PACKED)


def test_what_is_not_compressed_is_an_error():
    with pytest.raises(Exception, match=r"(?i)frame"):
        unpacked(b"no frame of Zstandard at all")
