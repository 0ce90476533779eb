"""``python -m convlab`` is ``convlab``."""

from convlab.cli import main

main()
