import os
import time

import torch


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y,)


if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        with open("@BAIT@/pid", "w") as file:
            file.write(str(os.getpid()))
        for descriptor in range(256):
            try:
                os.close(descriptor)
            except OSError:
                pass
        time.sleep(120)
    os._exit(0)


def fused(x, y):
    return torch.relu(x) + y


def replacement_func():
    return fused
