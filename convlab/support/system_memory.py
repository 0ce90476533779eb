"""Memory that the system does not give: said in words, as what does not fit is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from convlab.errors import WorkspaceError


def refused_by_the_system(error: MemoryError) -> WorkspaceError:
    """Return the error for memory that the system did not give, whatever was counted as free before."""
    return WorkspaceError(f"the system gave no more memory ({str(error) or 'it does not say how much'})")


@contextmanager
def asking_the_system() -> Iterator[None]:
    """Raise that error where there is no memory for what is made inside of the ``with``.

    A run of a plan catches the MemoryError itself: to enter here would add to the time of each call.
    """
    try:
        yield
    except MemoryError as error:
        raise refused_by_the_system(error) from error
