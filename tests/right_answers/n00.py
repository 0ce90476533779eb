"""Notebook 00: a second right answer to each exercise."""

import numpy as np

RIGHT = {"flip": lambda w: np.rot90(w, 2, axes=(1, 2))}
