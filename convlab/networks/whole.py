"""Whole networks: every convolution in its place, from a photograph to the last feature map.

architectures   how ResNet-18 and SqueezeNet 1.0 are put together: start here
trace           an architecture as a list of steps
glue            what lies between convolutions: bias, ReLU, pooling, sums
arrays          which arrays the steps need, and how few of them
prepared        a plan for every layer, and the loop that runs them
stack           the front door: `load`
"""

from convlab.networks.executor import Prepared
from convlab.networks.network import Stack, load, names
from convlab.networks.profile import Profile

__all__ = ["Prepared", "Profile", "Stack", "load", "names"]
