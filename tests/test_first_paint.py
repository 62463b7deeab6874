"""What stands above the text is painted at once, also when the page comes over a slow line in two pieces: it does not
move when the second comes."""

import threading
import time
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from test_pages import SITE, Opened, browser  # noqa: F401

pytestmark = pytest.mark.browser

PAGE = "book/01-foundations/4-softmax-and-scale.html"
CUTS = (
    'class="logo__image only-light"',
    'class="sidebar-toggle primary-toggle',
    '<span class="strip"',
    "Notebook 4",
)
PAUSE = 0.7  # seconds, enough to paint what has come


class InPieces(SimpleHTTPRequestHandler):
    """A page that is asked for with ?cut=2 comes up to the third of CUTS, and the rest later."""

    def do_GET(self) -> None:
        if "?cut=" not in self.path:
            return super().do_GET()
        name, _, cut = self.path.partition("?cut=")
        text = (SITE / name.lstrip("/")).read_text("utf8")
        at = text.index(">", text.index(CUTS[int(cut)])) + 1
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(text[:at].encode())
        self.wfile.flush()
        time.sleep(PAUSE)
        self.wfile.write(text[at:].encode())
        return None

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def slow_line() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), lambda *given: InPieces(*given, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.mark.parametrize("cut", range(len(CUTS)), ids=CUTS)
def test_nothing_moves_when_the_second_piece_of_a_page_comes(cut: int, browser: Any, slow_line: str) -> None:  # noqa: F811
    with Opened(browser, f"{slow_line}{PAGE}?cut={cut}") as opened:
        opened.page.wait_for_load_state()
        assert opened.page.evaluate("() => moved") == 0
