"""What surrounds the pages: descriptions, the map of the site, lost readers, old addresses, the picture for sharing."""

import io
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from built import tree
from PIL import Image, ImageChops

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "book")]
import set_address  # noqa: E402
import single_page  # noqa: E402
import social_card  # noqa: E402

SITE = ROOT / "_build" / "html"
ADDRESS = set_address.wanted(ROOT)["site"]
MOVED = yaml.safe_load((ROOT / "book" / "redirects.yml").read_text())
PAGES = [page.name for page in single_page.contents(ROOT)]


@pytest.mark.built
@pytest.mark.parametrize("name", PAGES)
def test_every_page_says_what_it_is(name):
    soup = tree(SITE / f"{name}.html")
    said = {tag.get("name") or tag.get("property"): tag.get("content") for tag in soup.select("head meta")}
    text = said["description"]
    assert 20 <= len(text) <= 160 and not re.search(r"[\\$]|<", text), (
        text
    )  # the first paragraph has no formula
    assert said["og:description"] == text and said["twitter:card"] == "summary_large_image"
    assert said["og:title"] == soup.select_one("h1").find(string=True, recursive=False) or "/api" in name
    assert said["og:image:alt"] and said["og:site_name"] == "Attention, Executed"
    (canonical,) = soup.select('link[rel="canonical"]')
    assert canonical["href"] == said["og:url"] == f"{ADDRESS}{name}.html"
    image = said["og:image"]
    assert image.startswith(ADDRESS) and (SITE / image.removeprefix(ADDRESS)).exists()
    assert "robots" not in said


@pytest.mark.built
def test_no_two_pages_describe_themselves_alike():
    found = [
        re.search(r'name="description" content="([^"]*)"', (SITE / f"{name}.html").read_text())
        for name in PAGES
    ]
    texts = [match[1] for match in found if match]
    assert len(set(texts)) == len(texts) == len(PAGES)


@pytest.mark.built
def test_nothing_watches_the_reader():
    pages = "".join(page.read_text() for page in SITE.rglob("*.html"))
    scripts = "".join(script.read_text() for script in SITE.rglob("*.js"))
    watching = r"google-analytics|googletagmanager|plausible\.io|matomo|gtag\(|sendBeacon|document\.cookie"
    assert not re.search(watching, pages + scripts)


STRAY = re.compile(r"`|\*\*|(?<![\w*])\*(?=\w)[^*]*\w\*(?!\w)|\]\(|(?<!\w)\$[^$]+\$")


@pytest.mark.built
@pytest.mark.parametrize("name", PAGES)
def test_no_mark_of_markdown_is_left_in_the_text(name):
    page = tree(SITE / f"{name}.html")
    apart = page.select("code, pre, script, style, template, kbd, svg, math, .katex")
    not_text = {id(text) for part in apart for text in part.find_all(string=True)}
    stray = [text for text in page.find_all(string=True) if STRAY.search(text)]
    assert [str(text) for text in stray if id(text) not in not_text] == []


# ---- Files beside the pages -----------------------------------------------------------------------------------------


@pytest.mark.built
def test_the_map_names_the_real_pages_and_no_others():
    tree = ElementTree.parse(SITE / "sitemap.xml")
    urls = {element.text for element in tree.iter() if element.tag.endswith("loc")}
    assert urls == {f"{ADDRESS}{name}.html" for name in PAGES}
    assert f"Sitemap: {ADDRESS}sitemap.xml" in (SITE / "robots.txt").read_text()


@pytest.mark.built
def test_the_page_for_lost_readers_loads_nothing_and_its_links_are_whole_addresses_of_pages():
    soup = tree(SITE / "404.html")
    assert not soup.select('script, img, link[rel="stylesheet"], base')
    links = [str(a["href"]) for a in soup.select("a")] + [str(form["action"]) for form in soup.select("form")]
    assert len(links) >= 4
    for link in links:
        assert link.startswith(ADDRESS) and (SITE / link.removeprefix(ADDRESS)).exists(), link


def test_an_old_address_is_no_page_and_leads_to_one():
    for old, new in MOVED.items():
        assert old not in PAGES and new in PAGES, (old, new)


@pytest.mark.built
@pytest.mark.parametrize("old", MOVED)
def test_each_old_address_leads_on_and_keeps_the_place_on_the_page(old):
    text = (SITE / f"{old}.html").read_text()
    link = re.search(r'http-equiv="refresh" content="0; url=([^"]*)"', text)[1]  # type: ignore[index]
    assert ((SITE / f"{old}.html").parent / link).resolve() == SITE / f"{MOVED[old]}.html"
    assert f'location.replace("{link}" + location.hash)' in text


def test_the_picture_for_sharing_is_what_its_script_draws():
    drawn, stored = Image.open(io.BytesIO(social_card.card())), Image.open(social_card.CARD)
    assert drawn.size == stored.size == (1200, 630)
    assert social_card.CARD.stat().st_size < 40_000
    difference = ImageChops.difference(drawn.convert("RGB"), stored.convert("RGB"))
    assert max(high for _, high in difference.getextrema()) <= 8


# ---- On paper -------------------------------------------------------------------------------------------------------


@pytest.mark.built
def test_the_style_of_print_is_among_the_styles_of_every_page():
    sheet = (SITE / "_static" / "book.css").read_text()
    assert "@media print" in sheet and "pre-wrap" in sheet
    assert ".bd-sidebar-primary" in sheet[sheet.rindex("@media print") :]
