"""Binder opens notebooks in the checkout, which is no folder of a learner: they remember in the home."""

import os

os.environ.setdefault("CONVLAB_PROGRESS", os.path.expanduser("~"))
