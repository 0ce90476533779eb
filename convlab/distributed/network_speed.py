"""Latency and bandwidth, measured between two processes of this computer.

One sends bytes over a socket, the other sends them back. Half of the time there and back is one way. A few
bytes tell the latency; of many bytes what is left beyond it is the bandwidth. Nothing leaves the computer:
what is measured is its kernel, which copies, and no wire. A network between computers is slower.
"""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import time
from statistics import median

from convlab.distributed.network import Network
from convlab.support import another_python

HOST = "127.0.0.1"
SMALL, LARGE = 8, 4 << 20  # bytes of a message
BUDGET = 0.5  # seconds for the messages of one size
MOST = {SMALL: 2000, LARGE: 50}  # of them, where they are quick
LEAST = 5
PATIENCE = 20.0  # seconds for the other process to start, or to answer
_CHILD = "import sys\nfrom convlab.distributed.network_speed import echo\necho(int(sys.argv[1]), sys.argv[2])"


def measure_network() -> Network:
    """Return latency and bandwidth between two processes of this computer, over a socket.

    Returns
    -------
    Network
        Medians of many messages: of 8 bytes for the latency, of 4 MiB for the bandwidth.

    Raises
    ------
    ConnectionError
        If something else arrives than was sent.
    OSError
        If the system allows no sockets, or the other process does not answer.
    """
    token = secrets.token_hex(16)  # anyone on this computer may connect; our own process knows it
    with socket.create_server((HOST, 0)) as door:
        door.settimeout(PATIENCE)
        command = [sys.executable, *another_python.program(_CHILD), str(door.getsockname()[1]), token]
        other = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        try:
            with _expected(door, token) as line:
                latency = median(_one_way(line, SMALL))
                whole = median(_one_way(line, LARGE))
        finally:
            other.kill()
            other.wait()
    # Where other programs disturb, a large message may seem to take no longer than a small one.
    return Network(latency, LARGE / max(whole - latency, whole / 2))


def echo(port: int, token: str) -> None:
    """Connect to a port of this computer, and send back what comes, until the line is closed.

    The other process runs this. A message is its length, 8 bytes, and what it holds.
    """
    with socket.create_connection((HOST, port), timeout=PATIENCE) as line:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        line.sendall(token.encode())
        while head := _received(line, 8):
            line.sendall(_received(line, int.from_bytes(head, "big")))


def _expected(door: socket.socket, token: str) -> socket.socket:
    """Return the line to the process that knows the token."""
    while True:
        line, _ = door.accept()
        line.settimeout(PATIENCE)
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # do not wait for more to send
        if secrets.compare_digest(bytes(_received(line, len(token))), token.encode()):
            return line
        line.close()


def _one_way(line: socket.socket, size: int) -> list[float]:
    """Return the seconds that messages of a size take one way, half of there and back."""
    message = os.urandom(size)
    head, until = size.to_bytes(8, "big"), time.perf_counter() + BUDGET
    seconds: list[float] = []
    while len(seconds) < LEAST or (len(seconds) < MOST[size] and time.perf_counter() < until):
        start = time.perf_counter()
        line.sendall(head + message)
        back = _received(line, size)
        seconds.append((time.perf_counter() - start) / 2)
        if back != message:
            raise ConnectionError(f"of {size} bytes that were sent to another process others came back")
    return seconds


def _received(line: socket.socket, size: int) -> bytearray:
    """Return the next bytes, so many; none if the line is closed."""
    data = bytearray(size)
    rest = memoryview(data)
    while rest:
        count = line.recv_into(rest)
        if not count:
            return bytearray()
        rest = rest[count:]
    return data
