"""The speeds by which "auto" chooses: those measured on this machine, else those of a processor like it.

Nothing is measured here, and nothing is written. ``convlab bench speeds`` measures (`convlab.auto.measure`).
"""

from __future__ import annotations

from convlab.auto.machine_file import kept_speeds, kept_until_changed
from convlab.auto.predict import Speeds
from convlab.auto.shipped import shipped_speeds


@kept_until_changed
def speeds() -> Speeds:
    """Return the speeds that are known of this machine; `Speeds.model` says if they are another one's.

    Raises
    ------
    ConvError
        If none were measured, and the files that come with convlab cannot be read.
    """
    return kept_speeds() or shipped_speeds()
