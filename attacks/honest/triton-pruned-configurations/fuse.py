import torch
import triton
import triton.language as tl


def prune(configs, named_args, **kwargs):
    n, size = named_args["n"], named_args["x_ptr"].element_size()
    kept = [config for config in configs if config.kwargs["BLOCK"] * size <= max(1024, n)]
    return kept or configs


def estimate(n, BLOCK, num_warps, **kwargs):
    return triton.cdiv(n, BLOCK) / num_warps


@triton.autotune(
    configs=[triton.Config({"BLOCK": block}, num_warps=4) for block in (256, 512, 1024)],
    key=["n"],
    prune_configs_by={"early_config_prune": prune, "perf_model": estimate, "top_k": 2},
)
@triton.jit
def kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask, other=0.0)
    y = tl.load(y_ptr + i, mask=mask, other=0.0)
    tl.store(out_ptr + i, tl.where(x < 0, 0.0, x) + y, mask=mask)


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


def fused(x, y):
    out = torch.empty_like(x)
    kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, out, x.numel())
    return out


def replacement_func():
    return fused
