"""A wait grows with the load up to its ceiling, and says what did not come."""

import os
from typing import Any

import pytest
import waits
from test_pages import browser  # noqa: F401  (a fixture is used by its name)


@pytest.mark.parametrize(("load", "seconds"), [(0.0, 30), (2.0, 30), (4.0, 60), (6.0, 90), (1000.0, 240)])
def test_a_limit_grows_with_the_load_up_to_its_ceiling(
    load: float, seconds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert waits.limit() == 1000 * seconds


@pytest.mark.browser
def test_a_wait_says_what_did_not_come(browser: Any, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setattr(waits, "limit", lambda: 1000)
    page = browser.new_page()
    waits.until(page, "two words", "() => true")
    with pytest.raises(AssertionError, match=r"about:blank: 1 s went by, at a load of [\d.]+, .*: two words"):
        waits.until(page, "two words", "() => false")
    page.close()
