"""The pictures in `how-to-use` show the pages as they are now; Binder gets what the package declares."""

import re
import sys
from pathlib import Path

import pytest
import test_pages
import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import shots  # noqa: E402

browser, origin = test_pages.browser, test_pages.origin
ANOTHER_WORD = """e => {
  const text = document.createTreeWalker(e, NodeFilter.SHOW_TEXT), words = [];
  while (text.nextNode()) if (/[a-z]{4}/.test(text.currentNode.data)) words.push(text.currentNode);
  words.at(-1).data = words.at(-1).data.replace(/[a-z]{4}/, 'MWMW');
}"""
HOW_TO_USE = (ROOT / "book" / "how-to-use.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def pages(browser):
    return {colours: shots.opened(browser, colours) for colours in shots.COLOURS_OF_THE_PAGE}


@pytest.fixture(scope="module")
def page(pages):
    return pages["light"]


@pytest.mark.browser
@pytest.mark.parametrize("colours", shots.COLOURS_OF_THE_PAGE)
@pytest.mark.parametrize("name", shots.SHOTS)
def test_a_picture_shows_what_the_page_shows(name, colours, pages, origin):
    now = shots.take(pages[colours], origin, shots.SHOTS[name])
    assert not shots.stale(shots.stored(name, colours), now), "run `make shots`, look at it, commit it"
    assert (shots.grey(now).mean() > 128) == (colours == "light")


@pytest.mark.browser
def test_of_each_pair_the_reader_sees_the_one_in_the_colours_of_the_page(browser, origin):
    with test_pages.Opened(browser, f"{origin}book/how-to-use.html") as opened:
        page, files = (
            opened.page,
            lambda: [Path(src).name for src in visible.evaluate_all("all => all.map(e => e.src)")],
        )
        visible = page.locator(".bd-article img:visible")
        light = files()
        assert sorted(light) == sorted(f"{name}.png" for name in shots.SHOTS)
        page.get_by_role("button", name="Color mode").click()
        assert files() == [name.replace(".png", "-dark.png") for name in light]
        page.emulate_media(media="print")
        assert files() == light, "paper is light"
        assert not opened.faults


@pytest.mark.browser
@pytest.mark.parametrize("name", [name for name, shot in shots.SHOTS.items() if shot.height is None])
@pytest.mark.parametrize("height", [0.3, 0.5, 0.7])
def test_a_fraction_of_a_dot_above_does_not_make_a_picture_stale(height, name, page, origin):
    shot = shots.SHOTS[name]
    page.goto(origin + shot.page)
    page.locator(".bd-article h1").evaluate(
        "(h, height) => { h.style.paddingBottom = `${height}px`; }", height
    )
    assert not shots.stale(shots.stored(name, "light"), shots.picture(page, shot))


@pytest.mark.browser
@pytest.mark.parametrize("name", shots.SHOTS)
def test_a_changed_word_makes_a_picture_stale(name, page, origin):
    shot = shots.SHOTS[name]
    page.goto(origin + shot.page)
    text = "h1" if shot.height else f"{shot.element} p:visible"
    page.locator(text).last.evaluate(ANOTHER_WORD)
    assert shots.stale(shots.stored(name, "light"), shots.picture(page, shot))


def test_every_picture_is_used_is_small_and_says_what_it_shows():
    shown = dict(re.findall(r"!\[([^\]]+)\]\(_static/shots/(\w+)\.png\)", HOW_TO_USE))
    assert sorted(shown.values()) == sorted(shots.SHOTS)
    assert all(len(alt.split()) >= 15 for alt in shown)
    files = [shots.stored(name, colours) for name in shots.SHOTS for colours in shots.COLOURS_OF_THE_PAGE]
    assert sorted(shots.FOLDER.iterdir()) == sorted(files)
    assert all(file.stat().st_size < 50_000 for file in files)


def test_binder_gets_what_the_package_declares():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    declared = project["dependencies"] + extras["torch"] + extras["viz"]
    wanted = yaml.safe_load((ROOT / "binder" / "environment.yml").read_text())["dependencies"]
    names = {"matplotlib-base": "matplotlib", "pytorch-cpu": "torch"}
    given = [re.sub(r"^[\w-]+", lambda m: names.get(m[0], m[0]), line) for line in wanted]
    assert sorted(given) == sorted(["python=3.11", *declared])
    build = ROOT / "binder" / "postBuild"
    assert build.stat().st_mode & 0o100 and "pip install --no-deps ." in build.read_text()
