"""The book on a web server of this machine, as its readers elsewhere have it: packed on its way."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread


class Gzipped(SimpleHTTPRequestHandler):
    """A web server that packs text, as those do that serve books."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        """Say nothing of requests."""

    def do_GET(self):
        """Answer with a file of the folder, packed if it is text."""
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            return self.send_error(404)
        kind, content = self.guess_type(path), path.read_bytes()
        packed = kind.startswith("text/") or "javascript" in kind or "svg" in kind
        content = gzip.compress(content) if packed else content
        self.send_response(200)
        self.send_header("Content-Type", kind)
        if packed:
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder inside a ``with``; its address has no stroke at the end."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Gzipped, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
