"""A JupyterLab that a test started: it prints its address a moment before it listens there."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

import pytest

from convlab.workspace.server import ask

PATIENCE = 60  # seconds


def printed_address(log: Path, server: subprocess.Popen) -> str:
    """Return the address that a server writes into its log, once it answers there."""
    address = re.compile(r"(http://(?:localhost|127\.0\.0\.1)\S+)\n")  # with its end: the token, whole
    found = _waited_for(lambda: address.search(log.read_text()), server, log)
    return answering(found[1], server, log)


def answering(url: str, server: subprocess.Popen, log: Path) -> str:
    """Return an address of a server, once it answers there."""
    _waited_for(lambda: _answers(url), server, log)
    return url


def _answers(url: str) -> bool:
    try:
        ask(url, timeout=5).close()
    except OSError:  # nobody listens yet; so is urllib's own error
        return False
    return True


def _waited_for(look, server: subprocess.Popen, log: Path):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and server.poll() is None:
        if found := look():
            return found
        time.sleep(0.05)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text()}")
