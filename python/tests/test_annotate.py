"""Annotation, prefix counts and proofs of graphs that are built here."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from passnet._capture.capture import capture
from passnet._passes import wire
from passnet._services import annotate, kernel_counts, measure, prove, shape_variants
from passnet._services.inputs import make_inputs


def _meta(name: str, shape: list[int], dtype: str = "float32", **more: Any) -> dict[str, Any]:
    return {"name": name, "shape": shape, "dtype": dtype, "mean": 0.0, "std": 1.0, **more}


def _request(module: Any, metas: list[dict[str, Any]]) -> dict[str, Any]:
    graph = capture(module, make_inputs(metas))[0].module.graph
    return {"graph": wire.from_graph(graph), "inputs": metas, "max_bytes": 1 << 20}


def _attention(x: torch.Tensor, w_self_q: torch.Tensor) -> Any:
    heads = torch.nn.functional.linear(x, w_self_q).view(1, 6, 2, 4).transpose(1, 2)
    bias = torch.zeros((1, 1, 6, 6), dtype=torch.float32)
    return (torch.softmax(heads @ heads.transpose(-1, -2) + bias, dim=-1) @ heads).transpose(1, 2).reshape(1, 6, 8)


def test_extents_are_corrected_by_where_they_come_from() -> None:
    request = _request(_attention, [_meta("L_x_", [1, 6, 8]), _meta("L_w_self_q_", [8, 8])])
    annotation = annotate.annotate(request)
    assert annotation["executed"]
    doubled = next(a for a in annotation["assignments"] if a["symbols"] == {"batch": 2})
    assert doubled["shapes"][-1] == [2, 6, 8]
    assert all(shape is not None for shape in doubled["shapes"])
    half = annotation["dtypes"][0]
    assert (half["dtype"], half["types"][-1]) == ("float16", "float16")


def test_variants_that_are_asked_for_later_are_those_of_the_annotation() -> None:
    request = _request(_attention, [_meta("L_x_", [1, 6, 8]), _meta("L_w_self_q_", [8, 8])])
    whole = annotate.answer(request)
    plain = annotate.answer({**request, "variants": False})
    assert plain == {**whole, "assignments": [], "dtypes": []}
    shapes = [value and value["shape"] for value in plain["values"]]
    later = {"graph": request["graph"], "inputs": request["inputs"], "shapes": shapes}
    assert annotate.answer({**later, "assignments": 10}) == {
        "assignments": whole["assignments"],
        "dtypes": whole["dtypes"],
    }
    assert annotate.answer({**later, "assignments": 2})["assignments"] == whole["assignments"][:2]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_statistics_are_those_of_torch(dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(0)
    wide = (torch.randn(40, 50, 60, generator=generator) * 3 + 2).to(dtype)
    cases = [wide, wide.permute(2, 0, 1), wide[:, ::2], wide[:1, :1].expand(2, 7, 60), wide.abs()]
    cases += [torch.full((100,), 0.1).to(dtype), wide[0, 0, :1], torch.zeros(70, dtype=dtype)]
    measurer = measure.Measurer()
    for tensor in cases:
        std, mean = torch.std_mean(tensor.float(), correction=min(tensor.numel() - 1, 1))
        meta = measurer.measure(tensor)
        assert (meta["mean"], meta["std"]) == pytest.approx((mean.item(), std.item()), rel=1e-5, abs=1e-9)
        assert ("min_val" in meta) == (tensor.numel() >= 64 and bool(tensor.min() >= 0))


def test_infinite_and_unknown_statistics_are_null() -> None:
    values = torch.ones(100)
    values[3] = float("inf")
    assert measure.Measurer().measure(values)["mean"] is None
    values[3] = float("nan")
    meta = measure.Measurer().measure(values)
    assert meta["mean"] is None and meta["std"] is None


def test_a_change_in_place_is_measured_again_and_a_view_is_not() -> None:
    measurer, tensor = measure.Measurer(), torch.ones(128)
    assert measurer.measure(tensor)["mean"] == measurer.measure(tensor.view(2, 64))["mean"] == 1.0
    assert len(measurer.known) == 1
    tensor.add_(1)
    assert measurer.measure(tensor.view(64, 2))["mean"] == 2.0
    # Freed memory may be used again for other values.
    for value in range(20):
        assert measurer.measure(torch.full((4096,), float(value)))["mean"] == value


def test_dtypes_that_the_tables_do_not_have_are_unknown() -> None:
    # In half precision, `fft` returns `complex32`.
    annotation = annotate.annotate(_request(lambda x: (torch.fft.fft(x).real,), [_meta("L_x_", [4, 8])]))
    assert [value["dtype"] for value in annotation["values"]] == ["float32", "complex64", "float32"]
    half = annotation["dtypes"][0]
    assert half["dtype"] == "float16" and half["types"][1] is None


def test_what_an_op_in_place_changes_is_not_taken_for_the_result_of_an_equal_op() -> None:
    def graph(x: torch.Tensor) -> Any:
        return (torch.relu(x).unsqueeze_(0), torch.relu(x))

    annotation = annotate.annotate(_request(graph, [_meta("x", [3, 5])]))
    assert annotation["assignments"][0]["shapes"][-1] == [6, 5]


@pytest.mark.parametrize(
    ("old", "new", "sizes", "expected"),
    [
        ([1, 197, 2304], [4, 197, 2304], [1, 197, 3, 12, 64], [4, 197, 3, 12, 64]),
        ([12, 197, 64], [48, 197, 64], [1, 12, 197, 64], [4, 12, 197, 64]),
        ([1, 12, 64, 64], [2, 12, 64, 64], [12, 64, 64], [24, 64, 64]),
        ([1, 49, 96], [1, 64, 96], [1, 7, 7, 96], [1, 8, 8, 96]),
        ([2, 64, 8], [2, 32, 8], [2, -1, 2, 4], [2, -1, 2, 4]),
        ([2, 3], [2, 3], [6], [6]),
        ([5, 7], [6, 7], [3, 3], [3, 3]),
    ],
)
def test_targets_of_views(old: list[int], new: list[int], sizes: list[int], expected: list[int]) -> None:
    assert shape_variants.regroup(old, new, sizes) == expected


def test_a_lie_about_shapes_names_the_op() -> None:
    request = _request(_attention, [_meta("L_x_", [1, 6, 8]), _meta("L_w_self_q_", [8, 8])])
    request["inputs"][1]["shape"] = [8, 9]
    with pytest.raises(annotate.AnnotateError, match="op `linear`"):
        annotate.annotate(request)


def test_indices_keep_their_domain() -> None:
    def embed(ids: torch.Tensor, w_self_table: torch.Tensor) -> Any:
        return (torch.nn.functional.embedding(ids + 1, w_self_table),)

    metas = [_meta("ids", [2, 40], "int64", min_val=0, max_val=8), _meta("w_self_table", [10, 4])]
    values = annotate.annotate(_request(embed, metas))["values"]
    assert 0 <= values[2]["min_val"] <= values[2]["max_val"] <= 9


def _chain(x: torch.Tensor, w_self_: torch.Tensor) -> Any:
    return (torch.nn.functional.linear(torch.relu(torch.tanh(x) + 1), w_self_).sigmoid(),)


def test_pointwise_ops_are_one_kernel_and_a_product_is_another() -> None:
    request = _request(_chain, [_meta("x", [64, 32]), _meta("w_self_", [16, 32])])
    module = wire.to_graph_module(request["graph"])
    assert kernel_counts.count_cpu(module, request["inputs"], range(1, 6)) == ([1, 1, 1, 2, 3], 1)
    assert [kernel_counts.count_cpu(module, request["inputs"], [k]) for k in (3, 5)] == [([1], 1), ([3], 1)]


def test_a_prefix_may_end_with_a_list_of_tensors() -> None:
    def halves(x: torch.Tensor) -> Any:
        first, second = torch.chunk(x + 1, 2, dim=1)
        return (first * second,)

    request = _request(halves, [_meta("x", [64, 32])])
    module = wire.to_graph_module(request["graph"])
    assert kernel_counts.count_cpu(module, request["inputs"], [1, 2, 5]) == ([1, 1, 1], 1)


def test_prefixes_that_have_something_in_common_are_counted_one_by_one() -> None:
    def noise(x: torch.Tensor) -> Any:
        return (torch.nn.functional.dropout(torch.relu(x), 0.5, True) + torch.rand_like(x),)

    request = _request(noise, [_meta("x", [64, 32])])
    module = wire.to_graph_module(request["graph"])
    alone = [kernel_counts.count_cpu(module, request["inputs"], [k])[0][0] for k in (1, 2, 4)]
    assert kernel_counts.count_cpu(module, request["inputs"], [1, 2, 4]) == (alone, 4)


def test_proofs_refuse_what_cannot_be_judged() -> None:
    def noise(x: torch.Tensor) -> Any:
        return (torch.nn.functional.dropout(x, 0.5, True),)

    def invalid(x: torch.Tensor) -> Any:
        return (torch.sqrt(-torch.exp(x)),)

    def fine(x: torch.Tensor) -> Any:
        return (x + 1,)

    graphs = [_request(graph, [_meta("x", [64])]) for graph in (noise, invalid, fine)]
    results = prove.prove({"graphs": graphs, "max_bytes": 1 << 20})["results"]
    assert "called again" in results[0]["error"]
    assert "NaN" in results[1]["error"]
    assert results[2] == {"bytes": 512}
    tight = prove.prove({"graphs": graphs[2:], "max_bytes": 100})["results"]
    assert "take 512 bytes" in tight[0]["error"]
