"""JupyterLab on the learner's folder: started quietly, or found where it already runs."""

from __future__ import annotations

import errno
import os
import threading
import webbrowser
from pathlib import Path
from urllib.error import URLError
from urllib.parse import quote, urlencode
from urllib.request import ProxyHandler, build_opener, getproxies_environment

from convlab.errors import ParameterError
from convlab.workspace import notebooks

# Settings of ours for JupyterLab, beside the reader's own and never in them: no pop-up about news.
SETTINGS = Path(__file__).parent / "jupyter"
LOOPBACK = "localhost", "127.0.0.1", "::1"
EVERYWHERE = "", "*"  # JupyterLab's names for all addresses of this machine

# Asks a server of this machine: no proxy is to see its token.
ask = build_opener(ProxyHandler({})).open


def serve(work: Path, first: str, *, more: tuple[str, ...] = (), **options) -> None:
    """Start JupyterLab with `work` as its root and the notebook `first` open; returns when it is stopped.

    The options are those of `arguments`; `more` goes to JupyterLab as it is.
    """
    prepare_environment(work)
    from jupyterlab.labapp import LabApp

    try:
        LabApp.launch_instance(argv=[*arguments(work, first, **options), *more])
    finally:
        _end_idle_threads()


def _end_idle_threads() -> None:
    """End AnyIO's threads: a server that is stopped in the midst of a request forgets them.

    Python would wait for them for ever, and whoever pressed Ctrl-C with it.
    """
    for thread in threading.enumerate():
        if thread.name == "AnyIO worker thread" and hasattr(thread, "queue"):
            thread.queue.put(None)  # by which it knows that nothing more comes


def arguments(
    work: Path, first: str, *, browser: bool = True, port: int | None = None, ip: str | None = None
) -> list[str]:
    """Return JupyterLab's command line.

    With or without a `browser` window the address is printed. Without `port` and `ip` JupyterLab listens
    where it chooses itself: on the first free port, on this machine only.
    """
    found = [
        f"--ServerApp.root_dir={work}",
        f"--LabApp.default_url=/lab/tree/{quote(first)}",
        "--log-level=ERROR",  # the address is printed all the same
        "--LabApp.log_level=ERROR",
        "--ServerApp.answer_yes=True",  # Ctrl-C stops it, without a question
    ]
    if _can_encrypt():
        found.append("--KernelManager.transport_encryption=auto")
    if not browser:
        found.append("--no-browser")
    if port is not None:
        found += [f"--ServerApp.port={port}", "--ServerApp.port_retries=0"]
    if ip is not None:
        found.append(f"--ServerApp.ip={ip}")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        found.append("--allow-root")
    return found


def check_address(ip: str) -> None:
    """Refuse an address that cannot be listened on here, which JupyterLab answers with a traceback."""
    if ip in EVERYWHERE:
        return
    try:
        _listen_once(0, ip)
    except (OSError, UnicodeError):
        raise ParameterError(f"--ip={ip!r}; expected an address of this machine, e.g. 127.0.0.1") from None


def check_port(port: int, ip: str | None = None) -> None:
    """Refuse a port that is taken, for which JupyterLab would quietly take another, or not for this user."""
    try:
        _listen_once(port, LOOPBACK[0] if ip is None else "" if ip in EVERYWHERE else ip)
    except OSError as error:
        why = "another program listens there" if error.errno == errno.EADDRINUSE else error.strerror
        raise ParameterError(
            f"--port={port}: {why}; choose another, or leave --port out: the first free one is taken then"
        ) from None


def _listen_once(port: int, ip: str) -> None:
    """Listen as JupyterLab does, and stop: a name such as localhost may be two addresses; it takes both."""
    from tornado.netutil import bind_sockets

    for one in bind_sockets(port, ip):
        one.close()


def prepare_environment(work: Path) -> None:
    """Point JupyterLab at our settings, and keep which tabs are open out of the reader's own JupyterLab."""
    paths = [str(SETTINGS), *filter(None, [os.environ.get("JUPYTER_CONFIG_PATH")])]
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(paths)
    os.environ.setdefault("JUPYTERLAB_WORKSPACES_DIR", str(work / ".jupyter" / "workspaces"))
    in_checkout = not notebooks.from_wheel()
    if in_checkout:  # its notebooks import it, whatever is installed beside it
        both = [str(notebooks.ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(both))
    spare_loopback()


def spare_loopback() -> None:
    """Where a proxy is named, name what it must not see: this machine's own addresses, which hold a token.

    JupyterLab, the browser and all else that is started from here read it.
    """
    proxies = getproxies_environment()  # by scheme; "no" is what is spared already
    spared = proxies.pop("no", "")
    if proxies and spared.strip() != "*":
        both = ",".join(dict.fromkeys([*filter(None, spared.split(",")), *LOOPBACK]))
        os.environ["no_proxy"] = os.environ["NO_PROXY"] = both


def running(work: Path) -> dict | None:
    """Return the JupyterLab that already serves `work`, or None."""
    from jupyter_server.serverapp import list_running_servers

    for server in list_running_servers():
        if Path(server["root_dir"]).resolve() == work.resolve() and _answers(server):
            return server
    return None


def address(server: dict, notebook: str) -> str:
    """Return the address of one notebook on a server found by `running`."""
    token = f"?{urlencode({'token': server['token']})}" if server.get("token") else ""
    return f"{server['url']}lab/tree/{quote(notebook)}{token}"


def show(url: str, *, browser: bool) -> None:
    """Open an address in the browser, if wanted."""
    if browser:
        spare_loopback()
        webbrowser.open(url)


def _can_encrypt() -> bool:
    """Whether kernels can talk to the server in cipher; where not, they say so on every start."""
    import zmq
    from jupyter_client.manager import KernelManager

    return zmq.has("curve") and KernelManager.class_traits().get("transport_encryption") is not None


def _answers(server: dict) -> bool:
    """A file of a server that crashed may still lie about; one that answers is there."""
    query = urlencode({"token": server.get("token", "")})
    try:
        with ask(f"{server['url']}api/status?{query}", timeout=2) as answer:
            return answer.status == 200
    except (URLError, OSError, ValueError):
        return False
