"""Models of images: convolutional, and made of patches."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

Built = tuple[nn.Module, tuple[torch.Tensor, ...]]


def _image(batch: int, size: int) -> tuple[torch.Tensor, ...]:
    return (torch.randn(batch, 3, size, size),)


class ConvNorm(nn.Sequential):
    """Convolution, batch norm and, unless `act` is None, an activation."""

    def __init__(
        self, inputs: int, outputs: int, size: int = 1, *, stride: int = 1, groups: int = 1, act: type | None = nn.ReLU
    ):
        layers = [
            nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False),
            nn.BatchNorm2d(outputs),
        ]
        super().__init__(*layers, *([act()] if act else []))


class Bottleneck(nn.Module):
    def __init__(self, inputs: int, width: int, outputs: int, stride: int, groups: int, squeezes: bool):
        super().__init__()
        self.branch = nn.Sequential(
            ConvNorm(inputs, width),
            ConvNorm(width, width, 3, stride=stride, groups=groups),
            SqueezeExcite(width, inputs // 4, nn.ReLU) if squeezes else nn.Identity(),
            ConvNorm(width, outputs, act=None),
        )
        same = stride == 1 and inputs == outputs
        self.shortcut = nn.Identity() if same else ConvNorm(inputs, outputs, stride=stride, act=None)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.branch(x) + self.shortcut(x))


class SqueezeExcite(nn.Module):
    def __init__(self, width: int, inner: int, act: type):
        super().__init__()
        self.reduce, self.expand, self.act = nn.Conv2d(width, inner, 1), nn.Conv2d(inner, width, 1), act()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scale = self.expand(self.act(self.reduce(x.mean((2, 3), keepdim=True))))
        return x * scale.sigmoid()


class Staged(nn.Module):
    """A stem, stages of blocks, and a classifier."""

    def __init__(self, stem: nn.Module, blocks: list[nn.Module], width: int):
        super().__init__()
        self.stem, self.blocks, self.head = stem, nn.Sequential(*blocks), nn.Linear(width, 1000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


def resnet() -> Built:
    """Four stages of bottlenecks, as in ResNet-50 with half of its blocks."""
    stem = nn.Sequential(ConvNorm(3, 64, 7, stride=2), nn.MaxPool2d(3, 2, 1))
    blocks, inputs = [], 64
    for stage, count in enumerate((2, 2, 3, 2)):
        for number in range(count):
            stride = 2 if stage and not number else 1
            blocks.append(Bottleneck(inputs, 64 << stage, 256 << stage, stride, 1, False))
            inputs = 256 << stage
    return Staged(stem, blocks, inputs), _image(1, 224)


def regnet() -> Built:
    """Grouped bottlenecks with squeeze and excitation, as in RegNetY."""
    blocks, inputs = [], 32
    for width, count in ((48, 1), (120, 3), (336, 4)):
        for number in range(count):
            blocks.append(Bottleneck(inputs, width, width, 1 if number else 2, width // 24, True))
            inputs = width
    return Staged(ConvNorm(3, 32, 3, stride=2), blocks, inputs), _image(1, 224)


class InvertedResidual(nn.Module):
    def __init__(self, inputs: int, outputs: int, factor: int, stride: int, size: int, act: type, squeezes: bool):
        super().__init__()
        width = inputs * factor
        self.layers = nn.Sequential(
            ConvNorm(inputs, width, act=act),
            ConvNorm(width, width, size, stride=stride, groups=width, act=act),
            SqueezeExcite(width, inputs // 4, act) if squeezes else nn.Identity(),
            ConvNorm(width, outputs, act=None),
        )
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.layers(x) if self.adds else self.layers(x)


def _inverted(act: type, squeezes: bool, factor: int) -> Built:
    blocks, inputs = [], 16
    for outputs, count, stride, size in ((24, 2, 2, 3), (40, 3, 2, 5), (80, 3, 2, 3), (112, 2, 1, 5), (192, 2, 2, 5)):
        for number in range(count):
            blocks.append(InvertedResidual(inputs, outputs, factor, 1 if number else stride, size, act, squeezes))
            inputs = outputs
    return Staged(ConvNorm(3, 16, 3, stride=2, act=act), blocks, inputs), _image(1, 224)


def mobilenet() -> Built:
    """Inverted residuals with ReLU6, as in MobileNetV2."""
    return _inverted(nn.ReLU6, False, 6)


def efficientnet() -> Built:
    """Inverted residuals with SiLU, squeeze and excitation, as in EfficientNet."""
    return _inverted(nn.SiLU, True, 4)


class DenseLayer(nn.Module):
    def __init__(self, inputs: int, growth: int):
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(inputs), nn.Conv2d(inputs, 4 * growth, 1, bias=False)
        self.norm2, self.conv2 = nn.BatchNorm2d(4 * growth), nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        new = self.conv2(F.relu(self.norm2(self.conv1(F.relu(self.norm1(x))))))
        return torch.cat([x, new], 1)


def densenet() -> Built:
    """Layers that add channels to what they are given, as in DenseNet."""
    blocks, width = [], 64
    for count in (4, 6, 8):
        for _ in range(count):
            blocks.append(DenseLayer(width, 32))
            width += 32
        blocks += [nn.BatchNorm2d(width), nn.ReLU(), nn.Conv2d(width, width // 2, 1, bias=False), nn.AvgPool2d(2)]
        width //= 2
    return Staged(nn.Sequential(ConvNorm(3, 64, 7, stride=2), nn.MaxPool2d(3, 2, 1)), blocks, width), _image(1, 192)


class UNet(nn.Module):
    """Three levels down and up with connections between equal levels, as in U-Net, with group norm and SiLU."""

    def __init__(self, widths: tuple[int, ...] = (32, 64, 128)):
        super().__init__()
        self.down = nn.ModuleList(self._double(a, b) for a, b in zip((3, *widths), widths, strict=False))
        self.middle = self._double(widths[-1], widths[-1])
        self.up = nn.ModuleList(self._double(2 * b, a) for a, b in zip((widths[0], *widths), widths, strict=False))
        self.last = nn.Conv2d(widths[0], 3, 1)

    @staticmethod
    def _double(inputs: int, outputs: int) -> nn.Sequential:
        layers: list[nn.Module] = []
        for width in (inputs, outputs):
            layers += [nn.Conv2d(width, outputs, 3, padding=1), nn.GroupNorm(8, outputs), nn.SiLU()]
        return nn.Sequential(*layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = []
        for block in self.down:
            x = block(x)
            kept.append(x)
            x = F.max_pool2d(x, 2)
        x = self.middle(x)
        for block in reversed(self.up):
            x = F.interpolate(x, scale_factor=2.0, mode="nearest")
            x = block(torch.cat([x, kept.pop()], 1))
        return self.last(x)


def unet() -> Built:
    """A small U-Net."""
    return UNet(), _image(1, 96)


class ChannelNorm(nn.LayerNorm):
    """Layer norm over the channels of an image."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ConvNeXtBlock(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(width, width, 7, padding=3, groups=width), nn.LayerNorm(width, eps=1e-6)
        self.expand, self.reduce = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.scale = nn.Parameter(torch.full((width,), 0.1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(self.conv(x).permute(0, 2, 3, 1))
        y = self.scale * self.reduce(F.gelu(self.expand(y)))
        return x + y.permute(0, 3, 1, 2)


def convnext() -> Built:
    """Four stages of depthwise blocks with layer norm, as in ConvNeXt."""
    blocks: list[nn.Module] = []
    width = 48
    for stage, count in enumerate((2, 2, 4, 2)):
        if stage:
            blocks += [ChannelNorm(width), nn.Conv2d(width, 2 * width, 2, 2)]
            width *= 2
        blocks += [ConvNeXtBlock(width) for _ in range(count)]
    return Staged(nn.Sequential(nn.Conv2d(3, 48, 4, 4), ChannelNorm(48)), blocks, width), _image(1, 224)


class Patches(nn.Module):
    """An image as a sequence of patches, blocks, and a classifier."""

    def __init__(self, size: int, patch: int, width: int, blocks: list[nn.Module]):
        super().__init__()
        self.embed = nn.Conv2d(3, width, patch, patch)
        self.position = nn.Parameter(torch.randn(1, (size // patch) ** 2, width) * 0.02)
        self.blocks, self.norm, self.head = nn.Sequential(*blocks), nn.LayerNorm(width), nn.Linear(width, 1000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.embed(x).flatten(2).transpose(1, 2) + self.position
        return self.head(self.norm(self.blocks(x)).mean(1))


class MixerBlock(nn.Module):
    def __init__(self, tokens: int, width: int):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.tokens = nn.Sequential(nn.Linear(tokens, 2 * tokens), nn.GELU(), nn.Linear(2 * tokens, tokens))
        self.channels = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.norm2(x))


def mixer() -> Built:
    """Blocks that mix patches and channels in turn, as in MLP-Mixer."""
    return Patches(224, 16, 256, [MixerBlock(196, 256) for _ in range(6)]), _image(1, 224)


class Attention(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, tokens, width = x.shape
        q, k, v = self.qkv(x).reshape(batch, tokens, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        x = F.scaled_dot_product_attention(q, k, v)
        return self.out(x.transpose(1, 2).reshape(batch, tokens, width))


class ViTBlock(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.norm1, self.norm2, self.attention = nn.LayerNorm(width), nn.LayerNorm(width), Attention(width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Dropout(0.1), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


def vit() -> Built:
    """Blocks of attention over patches, as in ViT."""
    return Patches(224, 16, 192, [ViTBlock(192, 3) for _ in range(8)]), _image(1, 224)
