"""Recipes of the smaller libraries, and sizes of images."""

from __future__ import annotations

import pytest
import torch

from passnet import _zoo
from passnet._capture.capture import capture


def built(spec: str) -> tuple[_zoo.Recipe, _zoo.BuiltModel, _zoo.Call]:
    (recipe,) = _zoo.resolve(spec)
    made = recipe.build(_zoo.BuildOptions(2e7))
    return recipe, made, next(iter(made.calls))


def output(made: _zoo.BuiltModel, call: _zoo.Call) -> torch.Tensor:
    with torch.no_grad():
        return made.model.eval()(*call.args, **call.kwargs)


def test_segmentation_models_by_architecture_and_encoder():
    pytest.importorskip("segmentation_models_pytorch")
    found = [recipe.name for recipe in _zoo.resolve("segmentation_models_pytorch:*")]
    assert len(found) == len(set(found)) > 150
    recipe, made, call = built("segmentation_models_pytorch:Unet-resnet18@size=64")
    assert recipe.name == "segmentation_models_pytorch/Unet-resnet18-size64"
    assert output(made, call).shape == (1, 1, 64, 64)


def test_models_of_graphs():
    pytest.importorskip("torch_geometric")
    assert len(list(_zoo.resolve("torch_geometric:*"))) > 25
    for name, shape in [("GCN", (34, 7)), ("SchNet", (1, 1)), ("AttentiveFP", (2, 7))]:
        _, made, call = built(f"torch_geometric:{name}")
        assert output(made, call).shape == shape
        assert len(capture(made.model, call.args, call.kwargs)) == 1


def test_models_of_sentences_are_one_graph():
    pytest.importorskip("sentence_transformers")
    assert len(list(_zoo.resolve("sentence_transformers:*"))) > 10
    _, made, call = built("sentence_transformers:LaBSE@length=16")
    assert call.kwargs["input_ids"].shape == (2, 16)
    vector = output(made, call)
    assert vector.shape == (2, 768)
    torch.testing.assert_close(vector.norm(dim=-1), torch.ones(2))
    assert len(capture(made.model, (), call.kwargs)) == 1


@pytest.mark.parametrize(
    "spec",
    ["timm:resnet18", "timm:vit_tiny_patch16_224", "torchvision:resnet18", "torchvision:vit_b_32"],
)
def test_an_image_has_the_given_size(spec):
    pytest.importorskip(spec.partition(":")[0])
    recipe, made, call = built(f"{spec}@size=96")
    assert recipe.name.endswith("-size96")
    assert call.args[0].shape == (1, 3, 96, 96)
    assert output(made, call).shape == (1, 1000)


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("torchvision:resnet18@length=8", "do not have texts of a chosen length; leave out `length`"),
        ("torchvision:resnet18@mode=decode", "do not have a decoding step"),
        ("torchvision:resnet18@size=0", "a size is a number from 1 to 8192"),
        ("torchvision:resnet18@mode=test", "use `train` or `decode`"),
    ],
)
def test_variants_that_a_library_lacks_are_named(spec, reason):
    pytest.importorskip("torchvision")
    with pytest.raises(_zoo.SpecError, match=reason):
        list(_zoo.resolve(spec))
