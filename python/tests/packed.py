"""Reads what is compressed with Zstandard, without the command `zstd`: hosts with GPUs often lack it."""

from __future__ import annotations

import ctypes

_STEP = 1 << 20


class _Buffer(ctypes.Structure):
    """`ZSTD_inBuffer` and `ZSTD_outBuffer`."""

    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("position", ctypes.c_size_t)]


def unpacked(packed: bytes) -> bytes:
    """Decompresses one frame or several, with Python's own module where it has one (3.14), else with the library of the system.

    The end of a frame may be missing: the process that wrote it was killed.
    """
    try:
        from compression.zstd import ZstdDecompressor
    except ImportError:
        return _with_library(packed)
    parts = []
    while packed:
        decompressor = ZstdDecompressor()
        parts.append(decompressor.decompress(packed))
        packed = decompressor.unused_data
    return b"".join(parts)


def _with_library(packed: bytes) -> bytes:
    # Package managers, linkers and GCC need it, so it is there even where the command is not.
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_createDStream.restype = ctypes.c_void_p
    library.ZSTD_decompressStream.restype = ctypes.c_size_t
    library.ZSTD_getErrorName.restype = ctypes.c_char_p
    stream = ctypes.c_void_p(library.ZSTD_createDStream())
    source = ctypes.create_string_buffer(packed, len(packed))
    chunk = ctypes.create_string_buffer(_STEP)
    given = _Buffer(ctypes.cast(source, ctypes.c_void_p), len(packed), 0)
    parts = []
    try:
        while True:
            taken = _Buffer(ctypes.cast(chunk, ctypes.c_void_p), _STEP, 0)
            code = library.ZSTD_decompressStream(stream, ctypes.byref(taken), ctypes.byref(given))
            if library.ZSTD_isError(ctypes.c_size_t(code)):
                raise ValueError(library.ZSTD_getErrorName(ctypes.c_size_t(code)).decode())
            parts.append(chunk.raw[: taken.position])
            # A full chunk: the library may hold more.
            if given.position == given.size and taken.position < _STEP:
                return b"".join(parts)
    finally:
        library.ZSTD_freeDStream(stream)
