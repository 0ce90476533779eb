"""Workers: some on this machine, or a cluster that is there already. Dask starts and leads them."""

from __future__ import annotations

import sys
import warnings
from pkgutil import resolve_name
from typing import Any

from convlab.distributed.budget import bytes_of
from convlab.errors import ParameterError, UnsupportedError
from convlab.support.checked import Count, checked
from convlab.support.checks import check_number, said
from convlab.support.install import install_extra
from convlab.support.version import VERSION


@checked
def connect(
    address: str | None = None,
    *,
    workers: Count = 2,
    memory: int | str | None = None,
    seconds: float = 5.0,
) -> Any:
    """Return a client of Dask's workers; while there is one, what is lazy is computed by them.

    Parameters
    ----------
    address : str, optional
        Of a scheduler that is there already, "tcp://HOST:8786". Without it workers are started on this
        machine, and end with the client.
    workers : int
        How many to start, without an address: processes, each with one thread. In a script this belongs
        below ``if __name__ == "__main__":``, since each of them imports the script.
    memory : int or str, optional
        Bytes that each of those may hold, or text: "1 GiB". At 95 % of it Dask ends a worker and starts
        another. Without it, they share a quarter of what is free.
    seconds : float
        How long to wait for a scheduler's answer, and then for a first worker of it.

    Returns
    -------
    distributed.Client
        A context manager. `client.dashboard_link` is the page that shows who does what.

    Raises
    ------
    ConvError
        If Dask is not installed, nobody answers, there is no worker, or one has another version of convlab.
    """
    check_number("seconds", seconds, above=0)
    limit = bytes_of(memory) if memory is not None or address is None else 0
    limit //= workers if memory is None else 1
    try:
        from distributed import Client
    except ImportError:
        raise UnsupportedError(f"Dask is not installed; {install_extra('cluster')}") from None
    if address is None:
        page = "127.0.0.1:0"  # a free port, and for this machine alone
        here = {"n_workers": workers, "threads_per_worker": 1, "memory_limit": limit}
        client = Client(**here, dashboard_address=page)
    else:
        _ask(address, seconds)
        client = Client(address, timeout=seconds)
    try:
        check_versions(client)
    except BaseException:
        client.close()
        raise
    return client


def _ask(address: str, seconds: float) -> None:
    """Refuse a scheduler that is not there, or has no worker: a result would be waited for for ever.

    It is asked by a client of its own, for one that finds nobody would be left as the current one.

    Raises
    ------
    ParameterError
    """
    from distributed import Client

    try:
        client = Client(address, timeout=seconds, set_as_default=False)
    except (OSError, ValueError, AssertionError) as error:  # the last: too little time even to begin
        raise ParameterError(
            f"address={said(address)}: no scheduler answers within {seconds:g} s; `dask scheduler` "
            "starts one, `dask worker ADDRESS` a worker of it"
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=seconds)
        except TimeoutError as error:
            raise ParameterError(
                f"address={said(address)}: the scheduler has 0 workers, and none came within {seconds:g} s; "
                "`dask worker ADDRESS` starts one"
            ) from error


def check_versions(client: Any = None) -> None:
    """Refuse workers with another version of convlab, or none: of a client, or of the current one if any.

    Raises
    ------
    UnsupportedError
    """
    client = client or current()
    if client is None:
        return
    found = client.run(resolve_name, "convlab:__version__", on_error="return")
    for worker, version in found.items():
        if version != VERSION and not isinstance(version, OSError):  # who does not answer is asked by `block`
            has = f"has convlab {version}" if isinstance(version, str) else f"has no convlab: {version}"
            raise UnsupportedError(f"the worker at {worker} {has}; expected {VERSION}, as here")


def warn(message: str) -> None:
    """Say it here, and if this is a worker, where its client is."""
    say = warnings.warn
    if "distributed" in sys.modules:
        from distributed import warn as say
    say(message, RuntimeWarning, stacklevel=2)


def current() -> Any:
    """Return the client by which what is lazy is computed now; None if there is none."""
    if "distributed" not in sys.modules:
        return None
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        return None
