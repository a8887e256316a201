"""`passnet.compile` without CUDA graphs, as an author: `passnet bench run SUITE --author compiler:benches/gpu/passnet_compile.py`."""

import passnet


def compile(module):
    return passnet.compile(module)
