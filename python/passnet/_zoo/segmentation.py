"""segmentation_models_pytorch: each architecture with each of a list of encoders, on one image."""

from __future__ import annotations

from collections.abc import Iterator

import segmentation_models_pytorch as smp
import torch

from passnet._zoo import BuildOptions, BuiltModel, Call, Recipe, by_name

_ARCHITECTURES = (
    *("DeepLabV3", "DeepLabV3Plus", "FPN", "Linknet", "MAnet", "PAN"),
    *("PSPNet", "Segformer", "UPerNet", "Unet", "UnetPlusPlus"),
)
# One small encoder of each family.
_ENCODERS = (
    *("resnet18", "resnext50_32x4d", "se_resnet50", "timm-skresnet18", "dpn68", "densenet121", "vgg11_bn"),
    *("efficientnet-b0", "timm-tf_efficientnet_lite0", "mobilenet_v2", "mobileone_s0", "mit_b0", "xception"),
    *("inceptionv4", "inceptionresnetv2", "tu-convnext_atto", "tu-regnety_004", "tu-hrnet_w18_small"),
)
# DPT needs a vision transformer of timm as its encoder.
_TRANSFORMERS = ("tu-vit_tiny_patch16_224", "tu-vit_small_patch16_224.augreg_in21k", "tu-deit_tiny_patch16_224")
# Encoders that an architecture refuses: those that cannot be dilated, and transformers without features of all resolutions.
_UNDILATED = ("densenet121", "vgg11_bn", "xception", "inceptionv4", "inceptionresnetv2", "tu-hrnet_w18_small")
_REFUSED = {
    "DeepLabV3": _UNDILATED,
    "DeepLabV3Plus": _UNDILATED,
    "PAN": _UNDILATED,
    "Linknet": ("mit_b0",),
    "UnetPlusPlus": ("mit_b0",),
}
_MODELS = {
    f"{architecture}-{encoder}": (architecture, encoder)
    for architectures, encoders in ((_ARCHITECTURES, _ENCODERS), (("DPT",), _TRANSFORMERS))
    for architecture in architectures
    for encoder in encoders
    if encoder not in _REFUSED.get(architecture, ())
}
_SIZE = 224


def recipes(spec: str, pattern: str) -> Iterator[Recipe]:
    """Returns the models whose name, such as ``Unet-resnet18``, matches `pattern`."""
    return by_name(spec, "segmentation_models_pytorch", pattern, list(_MODELS), _build, "computer_vision", ("size",))


def _build(name: str, options: BuildOptions) -> BuiltModel:
    architecture, encoder = _MODELS[name]
    model = getattr(smp, architecture)(encoder_name=encoder, encoder_weights=None)
    side = options.size or _SIZE
    return BuiltModel(model, [Call("vision", (torch.randn(1, 3, side, side),))])
