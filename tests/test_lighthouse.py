"""Lighthouse finds nothing to mend on a page of each kind; `make lighthouse` asks about every page and its speed.

One page takes about 8 seconds, so a sample is asked here. Axe, which is what Lighthouse goes by, sees every page in
test_pages.py.
"""

import os

import chromium
import lighthouse
import pytest
from gzip_server import serving
from page_speed import SITE, pages

pytestmark = pytest.mark.browser

KINDS = [
    "book/intro.html",
    "book/01-foundations/1-the-bottleneck.html",
    "book/claims.html",
    "book/api/nn.html",
]
INSTALLED = lighthouse.FOLDER / "node_modules" / "lighthouse"


def test_a_page_below_a_limit_is_named_and_a_hidden_page_need_not_be_found(tmp_path, monkeypatch):
    monkeypatch.setattr("page_speed.SITE", tmp_path)
    (tmp_path / "open.html").write_text("<head></head>")
    (tmp_path / "hidden.html").write_text('<head><meta name="robots" content="noindex"></head>')
    verdict = {"scores": {"performance": 94, "accessibility": 100, "best-practices": 100, "seo": 60}}
    assert lighthouse.below("open.html", verdict) == {"performance": 94, "seo": 60}
    assert lighthouse.below("hidden.html", verdict) == {"performance": 94}


def test_lighthouse_finds_nothing_to_mend_on_a_page_of_each_kind(playwright):
    if not (INSTALLED.exists() or os.environ.get("CI")):
        pytest.skip("Lighthouse is not fetched: run `make lighthouse` once, then this again.")
    names = [name for name in KINDS if name in pages()]
    if not names:
        pytest.skip("the book is not built: run `make book`, then this again.")
    port = lighthouse.free_port()
    arguments = [*chromium.ARGUMENTS, f"{lighthouse.DEBUGGED}={port}"]
    browser = playwright.chromium.launch(executable_path=chromium.PATH, args=arguments)
    with serving(SITE) as server, lighthouse.judging(port, "accessibility,best-practices,seo") as judge:
        for name in names:
            verdict = judge(server.address + name)
            assert not lighthouse.below(name, verdict), (name, verdict["failed"])
    browser.close()
