"""Serve a folder with compression, as a web host does, and record what was sent."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

TEXTS = {".html", ".css", ".js", ".svg", ".json", ".txt", ".xml"}


@lru_cache(maxsize=256)
def compressed(path: Path, changed: float) -> bytes:
    """The compressed file, cached; `changed` is its time, so that a changed file is read again."""
    content = path.read_bytes()
    return gzip.compress(content, 6, mtime=0) if path.suffix in TEXTS else content


class Server(ThreadingHTTPServer):
    """`sent` holds path and bytes of every answer since `forget` was called."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
        self.sent: list[tuple[str, int]] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/"

    def forget(self) -> None:
        self.sent = []


class Handler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server  # pyright: ignore[reportIncompatibleVariableOverride]

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() else path
        if not path.is_file():
            self.server.sent.append((self.path, 0))
            self.send_error(404)
            return
        content = compressed(path, path.stat().st_mtime)
        self.server.sent.append((self.path, len(content)))
        self.send_response(200)
        self.send_header(
            "Content-Type", self.guess_type(str(path)) + "; charset=utf-8" * (path.suffix in TEXTS)
        )
        if path.suffix in TEXTS:
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "max-age=600")
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """A server of `folder` at a free port, while the block runs.

    >>> with serving(Path(".")) as server:
    ...     server.address.startswith("http://127.0.0.1:")
    True
    """
    server = Server(folder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
