"""Channel mixing: which filter reads which channel, and what groups do to the cost of a layer."""

from __future__ import annotations

from convlab.figures import mixing
from convlab.figures.picture import Picture
from convlab.problem import ConvProblem
from convlab.widgets.base import Choice, Live, Whole, as_word

CHANNELS = ("16", "64", "256", "512")


class ChannelMixing(Live):
    """The matrix of filters and channels of a layer, with the FLOPs, weights and bytes of its groups.

    Parameters
    ----------
    channels : int
        Channels, and as many filters: 16, 64, 256 or 512.
    groups : int
        1, 2, 4, 8, 16 or as many as channels.
    size : int
        Height and width of the picture, 7 to 112.
    taps : int
        Height and width of the filter, 1 to 7; the output is as large as the input.

    Raises
    ------
    ConvError
        If the numbers are outside these ranges.

    Examples
    --------
    >>> ChannelMixing(256, groups=256).problem.w_shape
    (256, 3, 3, 1)
    """

    source = ("channel_mixing.js",)
    channels = Choice(CHANNELS, "256")
    step = Whole(0, 5, 2)
    size, taps = Whole(7, 112, 28), Whole(1, 7, 3)

    def __init__(self, channels=256, *, groups=4, size=28, taps=3):
        channels = as_word("channels", channels, CHANNELS)
        steps = mixing.groups_of(int(channels))
        groups = int(as_word("groups", groups, [str(step) for step in steps]))
        super().__init__(channels=channels, step=steps.index(groups), size=size, taps=taps)

    @property
    def problem(self) -> ConvProblem:
        """The layer that is shown now."""
        C, steps = int(self.channels), mixing.groups_of(int(self.channels))
        groups = steps[min(self.step, len(steps) - 1)]
        return ConvProblem(1, self.size, self.size, C, C, self.taps, self.taps, padding="same", groups=groups)

    def draw(self) -> Picture:
        """Return a picture of the present state."""
        return mixing.draw(self.problem)
