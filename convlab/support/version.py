"""The version of convlab, where every room can read it; `pyproject.toml` says the same."""

VERSION = "1.0.0"
