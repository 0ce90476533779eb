"""How a network is put together: one function each, read from the photograph down.

`net` is a `GraphBuilder`: its methods note what is done, in order, and compute nothing. Every convolution is
followed by its bias, and by ReLU unless it says ``relu=False``. The names are torchvision's, MobileNet's
are Keras's; the shapes of the filters are looked up under them in `data/networks/`.

Batch normalisation is not to be seen: after training it multiplies and shifts every channel by fixed
numbers, and those are folded into the weights and the bias of the convolution before it.
"""

from __future__ import annotations

from collections.abc import Callable

from convlab.networks.graph import GraphBuilder, Node


def resnet18(net: GraphBuilder, photo: Node) -> Node:
    """He et al. 2015, arXiv:1512.03385: blocks that add something to what they were given."""
    x = net.conv("conv1", photo)
    x = net.max_pool("maxpool", x, window=3, stride=2, padding=1)
    for stage in (1, 2, 3, 4):
        for block in (0, 1):
            x = _block(net, f"layer{stage}.{block}", x, smaller=stage > 1 and block == 0)
    return net.mean("avgpool", x)


def _block(net: GraphBuilder, name: str, x: Node, smaller: bool) -> Node:
    """Two convolutions, and a way around them: x itself, or made as small as their output."""
    y = net.conv(f"{name}.conv1", x)
    y = net.conv(f"{name}.conv2", y, relu=False)
    if smaller:
        x = net.conv(f"{name}.downsample.0", x, relu=False)
    return net.add(name, y, x)  # and then ReLU


def squeezenet1_0(net: GraphBuilder, photo: Node) -> Node:
    """Iandola et al. 2016, arXiv:1602.07360: few channels in, many out, and most filters are 1x1."""
    x = net.conv("features.0", photo)
    for place in range(2, 13):
        name = f"features.{place}"
        if place in (2, 6, 11):
            x = net.max_pool(name, x, window=3, stride=2, round_up=True)
        else:
            x = _fire(net, name, x)
    x = net.conv("classifier.1", x)
    return net.mean("classifier.3", x)


def _fire(net: GraphBuilder, name: str, x: Node) -> Node:
    """Squeeze the channels, then expand them in two ways, side by side."""
    x = net.conv(f"{name}.squeeze", x)
    one, three = net.conv(f"{name}.expand1x1", x), net.conv(f"{name}.expand3x3", x)
    return net.concat(name, one, three)


def mobilenet_v1(net: GraphBuilder, photo: Node) -> Node:
    """Howard et al. 2017, arXiv:1704.04861: thirteen times each channel by itself, then pixel by pixel."""
    x = net.conv("conv1", photo)
    for place in range(1, 14):
        x = net.conv(f"conv_dw_{place}", x)
        x = net.conv(f"conv_pw_{place}", x)
    return net.mean("global_average_pooling2d", x)


ARCHITECTURES: dict[str, Callable[[GraphBuilder, Node], Node]] = {
    "resnet18": resnet18,
    "squeezenet1_0": squeezenet1_0,
    "mobilenet_v1": mobilenet_v1,
}
