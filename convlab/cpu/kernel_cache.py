"""Compiled kernels kept on disk: Numba's cache, but what lies there is checked first, and is never fatal.

Numba believes what it finds: a file that was cut short ends every call, and one with a wrong byte runs as
machine code. It also gives up where nothing can be written. Here each compiled form of a kernel has a file
of its own, which is used only if it is whole and was made from this very code:

    seal    32 bytes, the SHA-256 of all that follows
    mark    32 bytes, the SHA-256 of what it was made from: Numba, the library's code, the function
    rest    pickled: for which types and processor it was compiled, and the machine code

Anything else is compiled anew and replaced. Where that cannot be kept, one warning says what it means.
"""

from __future__ import annotations

import glob
import pickle
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import numba
from numba.core.caching import FunctionCache, NullCache
from numba.core.serialize import dumps

from convlab.errors import CacheWarning
from convlab.support.files import replacing

ROOMS = ("cpu", "algorithms", "gradients", "support")  # of what any kernel calls beyond its own file
SEAL = 32  # bytes of a SHA-256
_MOST = 64 << 20  # bytes of a file; the largest kernels have some hundred thousand
ANEW = "every process compiles anew what it uses, which takes seconds; the results are the same"
_told: list[str] = []  # the one warning of this process, once it was given


@lru_cache
def library() -> str:
    """Return a digest of the library's code.

    Numba notices a change in the file of a kernel, but not in what the kernel calls: a new register tile
    would go unseen.
    """
    package = Path(__file__).parents[1]
    files = [file for room in ROOMS for file in package.glob(f"{room}/**/*.py") if file.name[:3] != "gpu"]
    return sha256(b"".join(file.read_bytes() for file in sorted(files))).hexdigest()


class KernelCache(FunctionCache):
    """What is kept of one function, in place of Numba's own cache of it."""

    def __init__(self, function: Callable):
        super().__init__(function)
        base, source = self._impl.filename_base, self._impl.locator.get_source_stamp()
        made_from = numba.__version__, library(), function.__module__, base, source
        self._mark = sha256(repr(made_from).encode()).digest()
        self._unusable: dict[Path, str] = {}  # files that were found, and what is wrong with them

    def load_overload(self, sig, target_context):
        """Return the compiled form for these types; None if it must be compiled."""
        target_context.refresh()  # makes it know the types that the file names
        key = self._index_key(sig, target_context.codegen())
        path = self._path(key)
        try:
            if not path.is_file():
                return None
            if (size := path.stat().st_size) > _MOST:
                raise ValueError(f"it has {size} bytes")
            sealed = path.read_bytes()
            seal, mark, kept = sealed[:SEAL], sealed[SEAL : 2 * SEAL], sealed[2 * SEAL :]
            if seal != sha256(sealed[SEAL:]).digest():
                raise ValueError("it is not as it was written")
            if mark != self._mark:  # another version's
                return None
            kept_key, kernel = pickle.loads(kept)
            return self._impl.rebuild(target_context, kernel) if kept_key == key else None
        except Exception as error:
            self._unusable[path] = _in_words(error)
            return None

    def save_overload(self, sig, data):
        """Keep a compiled form, in place of what lies there."""
        path = None
        try:
            if not self._impl.check_cachable(data):
                return
            self._impl.locator.ensure_cache_path()
            key = self._index_key(sig, data.codegen)
            path = self._path(key)
            content = self._mark + dumps((key, self._impl.reduce(data)))
            _write(path, sha256(content).digest() + content)
            trouble = path in self._unusable and (
                f"the compiled kernel in {path} could not be used ({self._unusable.pop(path)}); "
                "it was compiled anew, which takes seconds, and the file is replaced"
            )
        except Exception as error:
            trouble = f"compiled kernels cannot be kept in {self.cache_path} ({_in_words(error)}): {ANEW}"
        if trouble:
            _tell(trouble)

    def flush(self) -> None:
        """Forget what is kept of this function."""
        for path in Path(self.cache_path).glob(f"{glob.escape(self._impl.filename_base)}.*.nbc"):
            with suppress(OSError):
                path.unlink()

    def _path(self, key) -> Path:
        """Return the file for one compiled form."""
        name = sha256(repr(key).encode()).hexdigest()[:16]
        return Path(self.cache_path, f"{self._impl.filename_base}.{name}.nbc")


def cache_of(function: Callable) -> KernelCache | NullCache:
    """Return what keeps the compiled forms of a function; where nothing can be kept, what keeps none."""
    try:
        return KernelCache(function)
    except Exception as error:
        trouble = f"compiled kernels {_nowhere(error)}"
    _tell(trouble)
    return NullCache()


def describe() -> str:
    """Say in words where compiled kernels are kept, and whether that works; tries it, and leaves nothing."""
    try:
        folder = Path(KernelCache(describe).cache_path)
    except Exception as error:
        return _nowhere(error)
    trial = folder / f"trial-{uuid4().hex[:8]}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write(trial, bytes(2**18))  # as large as the largest kernels
        trial.unlink()
    except OSError as error:
        return f"cannot be kept in {folder} ({_in_words(error)}): {ANEW}"
    return f"kept in {folder}; a new process finds them there"


def _write(path: Path, content: bytes) -> None:
    with replacing(path) as draft:
        draft.write_bytes(content)


def _nowhere(error: Exception) -> str:
    why = _in_words(error)
    if "no locator" in why:  # Numba's words for it
        why = "none of $NUMBA_CACHE_DIR, the library's own folder and the home folder can be written to"
    return f"can be kept nowhere ({why}): {ANEW}"


def _in_words(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error).partition("\n")[0] or type(error).__name__


def _tell(trouble: str) -> None:
    """Warn once in a process: more would not help."""
    if not _told:
        _told.append(trouble)
        advice = "`convlab doctor` says where kernels are kept; $NUMBA_CACHE_DIR names another folder"
        warnings.warn(f"{trouble}; {advice}", CacheWarning, stacklevel=3)
