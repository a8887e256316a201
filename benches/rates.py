"""Predicted times from costs and constants, as `plan::rates` of the built-in author computes them, and constants that fit measured times."""

from __future__ import annotations

import copy
import json
import math
from typing import Any

import torch

SIDES = ("eager", "fused")
CACHE = 16 << 20
# Costs of a call and the constants that they are multiplied by.
_WORK = {
    "bytes": "byte_ns",
    "elements": "element_ns",
    "half_elements": "half_element_ns",
    "functions": "function_ns",
    "windows": "window_ns",
    "half_products": "half_product_ns",
    "products": "product_ns",
}
# Weight of the distance to the constants before, which decides where no row depends on a constant.
_PRIOR = 0.03


def predicted(rates: dict[str, Any], side: str, costs: dict[str, Any]) -> float:
    """Returns the predicted time of one side in nanoseconds."""
    own = rates[side]
    host = own["begin_ns"] + costs["views"] * own["view_ns"] + costs["tensors"] * own["tensor_ns"]
    device = 0.0
    for call in costs["calls"]:
        host += own["call_ns"] + call["convolutions"] * own["convolution_ns"]
        work = sum(call[name] * own[constant] for name, constant in _WORK.items())
        if rates["overlaps"]:
            device = max(device, host) + work
        else:
            host += work
    host += max(sum(call["bytes"] for call in costs["calls"]) - CACHE, 0) * rates["far_byte_ns"]
    return max(host, device) + rates["wait_ns"]


def _constants(rates: dict[str, Any]) -> list[tuple[str, str]]:
    """The constants of a device: side, or nothing for those of both, and name."""
    common = [("", "wait_ns")] if rates["overlaps"] else [("", "far_byte_ns")]
    own = [(side, name) for side in SIDES for name in rates[side]]
    # These two are always 0: a call of eager mode includes its beginning and its memory, and a kernel looks up no plan of a library.
    return common + [
        place
        for place in own
        if place not in (("eager", "begin_ns"), ("eager", "tensor_ns"), ("fused", "convolution_ns"))
    ]


def _small(rates: dict[str, Any], name: str) -> float:
    """The value from which the fit of a constant begins that was 0: small next to others, but large enough to have a gradient."""
    eager = rates["eager"]
    if name.endswith("product_ns"):
        return eager["byte_ns"] / 1000
    return eager["call_ns"] / 10 if name in ("convolution_ns", "wait_ns") else eager["byte_ns"] / 10


def _with(rates: dict[str, Any], places: list[tuple[str, str]], logarithms: torch.Tensor) -> dict[str, Any]:
    result = copy.deepcopy(rates)
    for (side, name), value in zip(places, logarithms.tolist(), strict=True):
        (result[side] if side else result)[name] = math.exp(value)
    return result


def fitted(rates: dict[str, Any], rows: list[dict[str, Any]], turns: int = 40) -> dict[str, Any]:
    """Returns constants that fit measured times.

    Least squares of the logarithms of predicted / measured, over the logarithms of the constants: the method of Levenberg and
    Marquardt. Residuals above 1.5 times count less (Huber), so that a few kernels of another kind do not decide.
    """
    places = _constants(rates)
    begin = [math.log((rates[side] if side else rates)[name] or _small(rates, name)) for side, name in places]
    prior = torch.tensor(begin, dtype=torch.float64)

    def residuals(point: torch.Tensor) -> torch.Tensor:
        now = _with(rates, places, point)
        of_rows = [
            math.log(predicted(now, side, row[side]) / row[f"measured_{side}_ns"]) for row in rows for side in SIDES
        ]
        # Views alone or calls alone may cost nothing, so a distance of a factor counts no more than that of ten rows.
        distance = (point - prior) * _PRIOR * math.sqrt(len(rows) / 10)
        return torch.cat([torch.tensor(of_rows, dtype=torch.float64), distance])

    def weighted(values: torch.Tensor) -> torch.Tensor:
        """Square roots of Huber's weights."""
        return (math.log(1.5) / values.abs().clamp(min=math.log(1.5))).sqrt()

    point, damping = prior.clone(), 1e-2
    now = residuals(point)
    for _ in range(turns):
        step = 1e-3
        columns = [
            (residuals(point + step * unit) - now) / step for unit in torch.eye(len(places), dtype=torch.float64)
        ]
        weights = weighted(now)
        jacobian = torch.stack(columns, dim=1) * weights[:, None]
        square, right = jacobian.T @ jacobian, jacobian.T @ (weights * now)
        while damping < 1e6:
            change = torch.linalg.solve(square + damping * torch.eye(len(places), dtype=torch.float64), right)
            later = residuals(point - change.clamp(-1, 1))
            if _loss(later) < _loss(now):
                point, now, damping = point - change.clamp(-1, 1), later, damping / 3
                break
            damping *= 3
        else:
            break
    return _with(rates, places, point)


def _loss(values: torch.Tensor) -> float:
    """Huber's loss."""
    return float(torch.nn.functional.huber_loss(values, torch.zeros_like(values), delta=math.log(1.5), reduction="sum"))


def as_text(rates: dict[str, Any]) -> str:
    """The constants as JSON with three digits."""

    def rounded(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: rounded(inner) for name, inner in value.items()}
        return float(f"{value:.3g}") if isinstance(value, float) else value

    return json.dumps(rounded(rates), indent=1)
