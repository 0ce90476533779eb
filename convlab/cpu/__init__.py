"""The CPU engine: the register tile, and the products built on it. It knows no algorithm."""
