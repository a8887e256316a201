"""Object detectors of the demo suite; their post-processing breaks into several graphs.

A threshold of zero keeps boxes although the weights are random.
"""

import torch
from torchvision.models import detection


def _images(batch, size):
    return ([torch.rand(3, size, size) for _ in range(batch)],)


def ssdlite320(batch=1, size=320):
    return detection.ssdlite320_mobilenet_v3_large(weights_backbone=None, score_thresh=0.0), _images(batch, size)


def retinanet(batch=1, size=128):
    sizes = {"min_size": size, "max_size": size}
    model = detection.retinanet_resnet50_fpn(weights_backbone=None, score_thresh=0.0, **sizes)
    return model, _images(batch, size)


def fcos(batch=1, size=128):
    sizes = {"min_size": size, "max_size": size}
    return detection.fcos_resnet50_fpn(weights_backbone=None, score_thresh=0.0, **sizes), _images(batch, size)
