"""What readers take with them: the PDF is the whole book and can be read by everyone; the archive opens from a disk."""

import asyncio
import fcntl
import os
import re
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import lxml.html
import pikepdf
import pypdfium2
import pytest
from bs4 import BeautifulSoup
from lxml import etree
from waits import patient

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import chromium  # noqa: E402
import make_pdf  # noqa: E402
import make_site  # noqa: E402
import make_zip  # noqa: E402
import set_address  # noqa: E402
import single_page  # noqa: E402

sys.path.insert(0, str(ROOT / "book"))
from _ext.chapters import page_subjects, with_subject  # noqa: E402

SITE = ROOT / "_build" / "html"
PAGES, SUBJECTS = single_page.contents(ROOT), page_subjects(ROOT / "book")
ADDRESS = set_address.wanted(ROOT)["site"]


def run(tool: str) -> str:
    done = subprocess.run([sys.executable, f"tools/{tool}"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@cache
def title(page: single_page.Page) -> str:
    """The title as the built page has it."""
    heading = re.search(
        r'<h1>((?:(?!</h1>).)*?)<a class="headerlink"', (SITE / f"{page.name}.html").read_text(), re.S
    )
    assert heading
    return BeautifulSoup(heading[1], "html.parser").get_text()


# ---- One page of many, in memory ------------------------------------------------------------------------------------


def test_the_solutions_stand_at_the_back():
    assert PAGES[0].name == "book/intro"
    at_the_back = ["/solutions-" in page.name for page in PAGES]
    assert at_the_back[-1] and at_the_back == sorted(at_the_back)
    assert len({page.key for page in PAGES}) == len(PAGES)


@pytest.mark.parametrize(
    ("link", "leads_to"),
    [
        ("#eq-a", "#one-a--eq-a"),
        ("../two.html", "#two"),
        ("../two.html#c001", "#two--c001"),
        ("https://example.org/x", "https://example.org/x"),
        ("../../genindex.html#A", "https://book.example/genindex.html#A"),
    ],
)
def test_links_between_pages_stay_inside_the_document(link, leads_to):
    page = single_page.Page("book/one/a", "")
    keys = {"book/one/a": "one-a", "book/two": "two"}
    assert single_page.target(link, page, keys, "https://book.example/") == leads_to


# ---- The PDF --------------------------------------------------------------------------------------------------------


def test_a_print_that_does_not_end_is_given_up(tmp_path, monkeypatch):
    class Stuck:
        async def new_context(self, **_: object) -> None:
            await asyncio.Event().wait()

    monkeypatch.setattr(make_pdf, "LIMIT", 0.01)
    monkeypatch.setattr(make_pdf, "BUILD", tmp_path)
    stuck = make_pdf.print_page(Stuck(), "<html></html>", tmp_path / "part-3.pdf")  # type: ignore[arg-type]
    with (
        ThreadPoolExecutor() as another,
        pytest.raises(SystemExit, match="part-3 was not printed within 0.01"),
    ):
        another.submit(asyncio.run, stuck).result()  # this thread may have the browser's own loop


HYPHEN = "\ufffe"  # how pdfium gives one that stands before the end of a line


@pytest.fixture(scope="module")
def pdf() -> Path:
    if chromium.PATH is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(
            "no Chromium to print the book with."
        )
    make_pdf.PDF.parent.mkdir(parents=True, exist_ok=True)
    with make_pdf.PDF.with_suffix(".lock").open(
        "w"
    ) as lock:  # two workers print one after the other, and only once
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (make_pdf.PDF.is_file() and make_pdf.PDF.stat().st_mtime > newest_page()):
            print(run("make_pdf.py"))
    return make_pdf.PDF


def newest_page() -> float:
    """When the last page of the built book was written."""
    return max(file.stat().st_mtime for file in SITE.rglob("*.html"))


@pytest.fixture(scope="module")
def texts(pdf: Path) -> list[str]:
    """The letters of each page, without spaces: where a PDF has some is a matter of its reader."""
    document = pypdfium2.PdfDocument(pdf)
    return ["".join(page.get_textpage().get_text_range().replace(HYPHEN, "-").split()) for page in document]


@pytest.mark.built
@pytest.mark.browser
def test_in_the_printed_parts_every_id_is_unique_and_every_link_leads_somewhere(pdf):
    ids: list[str] = []
    asked, stored, drawn_anywhere = set(), set(), 0
    parts = sorted((ROOT / "_build").glob("part-*.html"))
    assert len(parts) == 1 + len({page.part for page in PAGES})
    for part in parts:
        elements = list(lxml.html.parse(part).getroot().iter(etree.Element))
        here = [element.get("id") for element in elements if element.get("id")]
        ids += here
        links = [
            str(element.get("href")) for element in elements if element.tag == "a" and element.get("href")
        ]
        inside = {link[1:] for link in links if link.startswith("#")}
        assert inside <= set(here)
        stored |= inside
        elsewhere = single_page.ELSEWHERE
        led = {link.removeprefix(elsewhere) for link in links if link.startswith(elsewhere)}
        assert not led & set(here)
        asked |= led
        uses = [element for element in elements if element.tag == "use"]
        drawn = {str(use.get("xlink:href") or use.get("href"))[1:] for use in uses}
        assert drawn <= set(here)
        drawn_anywhere += len(drawn)
        assert not [
            e for e in elements if e.tag in ("script", "form") or "headerlink" in e.get("class", "").split()
        ]
        assert all("open" in element.attrib for element in elements if element.tag == "details")
        images = [str(element.get("src")) for element in elements if element.tag == "img"]
        assert all((ROOT / "_build" / src).exists() for src in images)
    assert len(ids) == len(set(ids)) > 1000 and drawn_anywhere
    assert asked <= stored <= set(ids) and len(asked) > 500


@pytest.mark.built
@pytest.mark.browser
def test_the_pdf_is_tagged_has_an_outline_and_says_its_language(pdf):
    with pikepdf.open(pdf) as document:
        root = document.Root
        assert root.MarkInfo.Marked and root.Lang == "en" and root.Outlines.Count != 0
        assert "/StructTreeRoot" in root and len(root.StructTreeRoot.ParentTree.keys()) > 0
        assert str(document.docinfo.Title) == "Attention, Executed"
    entries = [(entry.level, entry.get_title()) for entry in pypdfium2.PdfDocument(pdf).get_toc()]
    for page in PAGES:
        assert (1 if page.part else 0, title(page)) in entries
    assert {(0, page.part) for page in PAGES if page.part} <= set(entries)


@pytest.mark.built
@pytest.mark.browser
def test_across_the_parts_links_lead_inside_and_tags_make_one_tree(pdf):
    with pikepdf.open(pdf) as document:
        tags, places = document.Root.StructTreeRoot, document.Root.Dests
        tagged = pikepdf.NumberTree(tags.ParentTree)
        parts = [kid.objgen for kid in tags.K.K]
        of_pages, inside = [], 0
        for page in document.pages:
            tag = tagged[int(page.StructParents)][0]
            while tag.P.objgen != tags.K.objgen:
                tag = tag.P
            of_pages.append(parts.index(tag.objgen))
            for link in page.get("/Annots", ()):
                assert str(tagged[int(link.StructParent)].S) == "/Link"
                if "/Dest" in link:
                    inside += link.Dest in places
                else:
                    assert not str(link.A.URI).startswith(single_page.ELSEWHERE)
        assert of_pages == sorted(of_pages) and set(of_pages) == set(range(len(parts)))
        assert len(parts) >= len({page.part for page in PAGES}) and inside > 100 * len(PAGES)
        headers = pikepdf.NameTree(tags.IDTree)
        assert len(headers) > 100 and all(str(cell.ID) == name for name, cell in headers.items())


@pytest.mark.built
@pytest.mark.browser
def test_every_sheet_bears_its_head_and_its_number_through_all_parts(pdf, texts):
    numbers = make_pdf.page_numbers(pdf)
    heads = {numbers[page.key]: "".join(title(page).split()) for page in PAGES}
    parts = ["".join(page.part.split()) for page in PAGES if page.part]
    head = ""
    for number, words in enumerate(texts[1:], 2):  # the title page bears neither
        head = heads.get(number, head)
        # the sheet with the name of a part has no head
        assert words.startswith((f"{head}{number}", *(f"{number}{part}" for part in parts))), number


@pytest.mark.built
@pytest.mark.browser
def test_the_contents_name_the_page_on_which_each_chapter_begins(pdf, texts):
    numbers = make_pdf.page_numbers(pdf)
    contents = "".join(texts[1 : numbers[PAGES[0].key] - 1])
    for page in PAGES:
        number, words = numbers[page.key], "".join(title(page).split())
        listed = "".join(with_subject(title(page), SUBJECTS.get(page.name, "")).split())
        assert f"{listed}{number}" in contents, page.name
        assert words in texts[number - 1] and str(number) in texts[number - 1], page.name


@pytest.mark.built
@pytest.mark.browser
def test_the_pdf_holds_the_last_words_of_the_book_and_nothing_raw(texts):
    last = BeautifulSoup((SITE / f"{PAGES[-1].name}.html").read_text(), "html.parser")
    words = "".join(last.select("article p, article li")[-1].get_text().split())
    assert words[-30:] in "".join(texts[-2:])
    text = "".join(texts)
    for raw in ("$$", r"\frac", r"\tag", "[objectObject]", "Showthecode", "Hint1"):
        assert raw not in text, raw
    shown = "".join((SITE / f"{page.name}.html").read_text() for page in PAGES)
    assert ("undefined" in text) <= ("undefined" in shown)
    print(f"{len(texts)} pages")
    assert [number for number, words in enumerate(texts, 1) if not words] == [] and len(texts) > 5 * len(
        PAGES
    )


# ---- The archive and the site ---------------------------------------------------------------------------------------


@pytest.mark.built
def test_the_archive_has_every_page_needs_no_address_and_is_the_same_twice(tmp_path):
    number = make_zip.pack(SITE, tmp_path / "one.zip")
    make_zip.pack(SITE, tmp_path / "two.zip")
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.zip") as packed:
        names = packed.namelist()
        assert len(names) == number and all(name.startswith("attention-executed/") for name in names)
        assert {f"attention-executed/{page.name}.html" for page in PAGES} <= set(names)
        pages = [packed.read(name).decode() for name in names if name.endswith(".html")]
    loaded = re.findall(
        r'<(?:script|img|link rel="(?:stylesheet|preload|icon)")[^>]*(?:src|href)="([^"]*)"', "".join(pages)
    )
    assert len(loaded) > 5 * len(PAGES)
    assert [link for link in loaded if re.match(r"https?:|//|/", link)] == []


@pytest.mark.built
@pytest.mark.browser
@pytest.mark.skipif(chromium.PATH is None, reason="no Chromium")
def test_the_unpacked_archive_opens_from_the_disk_and_can_be_searched(tmp_path, playwright):
    make_zip.pack(SITE, tmp_path / "book.zip")
    zipfile.ZipFile(tmp_path / "book.zip").extractall(tmp_path)
    faults: list[str] = []
    browser = playwright.chromium.launch(executable_path=chromium.PATH, args=chromium.ARGUMENTS)
    page = patient(browser.new_page())
    page.on("pageerror", lambda error: faults.append(str(error)))
    left = "net::ERR_ABORTED"  # what a page still asked for when the reader went on
    page.on("requestfailed", lambda r: r.failure != left and faults.append(f"{r.failure}: {r.url}"))
    page.on("request", lambda request: request.url.startswith("http") and faults.append(request.url))
    page.goto((tmp_path / "attention-executed" / "index.html").as_uri())
    page.wait_for_url("**/book/intro.html")
    page.get_by_role("link", name="How to use this book").first.click()
    page.get_by_role("heading", name="How to use this book").wait_for()
    page.goto((tmp_path / "attention-executed" / "search.html").as_uri() + "?q=softmax")
    page.locator("#search-results li a").first.click()
    page.locator("article h1").wait_for()
    assert "/book/" in page.url and not faults
    browser.close()


def test_the_published_pages_link_to_the_downloads_beside_them_with_their_sizes(tmp_path):
    book, downloads, site = tmp_path / "html", tmp_path / "downloads", tmp_path / "site"
    (book / "book").mkdir(parents=True)
    downloads.mkdir()
    (downloads / "b.zip").write_bytes(b"x" * 1_240_000)
    link = '<a class="x" href="https://b.example/downloads/b.zip">as an archive</a>'
    (book / "book" / "intro.html").write_text(f"<p>{link}.</p>")
    (book / "other.html").write_text("<p>Nothing.</p>")
    assert make_site.put_together(book, downloads, site, "https://b.example/") == 1
    written = (site / "book" / "intro.html").read_text()
    assert written == '<p><a class="x" href="../downloads/b.zip">as an archive (1.2 MB)</a>.</p>'
    assert (site / "downloads" / "b.zip").exists() and (site / ".nojekyll").exists()


@pytest.mark.built
def test_a_plain_build_names_both_downloads_by_their_published_address():
    intro = (SITE / "book" / "intro.html").read_text()
    for name in ("attention-executed.pdf", "attention-executed.zip"):
        assert f'href="{ADDRESS}downloads/{name}"' in intro
