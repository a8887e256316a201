"""Image models of the demo suite. Each function returns a model with random weights and the arguments of one call."""

import timm
import torch
import torchvision
import transformers


def _images(batch, size):
    return (torch.randn(batch, 3, size, size),)


def resnet18(batch=1, size=64):
    return torchvision.models.resnet18(), _images(batch, size)


def densenet121(batch=1, size=64):
    return torchvision.models.densenet121(), _images(batch, size)


def mobilenet_v3_small(batch=1, size=64):
    return torchvision.models.mobilenet_v3_small(), _images(batch, size)


def efficientnet_b0(batch=1, size=64):
    return torchvision.models.efficientnet_b0(), _images(batch, size)


def shufflenet_v2(batch=1, size=64):
    return torchvision.models.shufflenet_v2_x1_0(), _images(batch, size)


def convnext_tiny(batch=1, size=64):
    return torchvision.models.convnext_tiny(), _images(batch, size)


def swin_t(batch=1, size=112):
    return torchvision.models.swin_t(), _images(batch, size)


def vit_tiny(batch=1, size=112):
    return timm.create_model("vit_tiny_patch16_224", img_size=size), _images(batch, size)


def resnetv2_groupnorm(batch=1, size=64):
    """A pre-activation ResNet with group normalisation and standardised weights."""
    return timm.create_model("resnetv2_50x1_bit"), _images(batch, size)


def mixer(batch=1, size=112):
    return timm.create_model("mixer_s16_224", img_size=size), _images(batch, size)


def segformer(batch=1, size=64):
    """Semantic segmentation: a transformer encoder over four scales and an all-MLP decoder."""
    return transformers.SegformerForSemanticSegmentation(transformers.SegformerConfig()), _images(batch, size)


def lraspp_mobilenet_v3(batch=1, size=64):
    """Semantic segmentation with a light reduced ASPP head."""
    return torchvision.models.segmentation.lraspp_mobilenet_v3_large(weights_backbone=None), _images(batch, size)
