"""`passnet.compile` with CUDA graphs, as an author: `passnet bench run SUITE --author compiler:benches/gpu/passnet_graphs.py`."""

import passnet


def compile(module):
    return passnet.compile(module, cuda_graphs=True)
