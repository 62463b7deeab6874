"""The browser that tests, prints and takes pictures of the pages.

Chromium's headless shell is the same engine without a user interface: it opens and closes a page in a tenth of a second
of processor time, the full browser in more than half a second.
"""

import shutil

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
PATH = next(filter(None, map(shutil.which, NAMES)), None)
HOW = "Debian, Ubuntu: sudo apt-get install chromium-headless-shell, or chromium"
ARGUMENTS = ["--no-sandbox", "--font-render-hinting=slight"]  # font rendering as in the full browser
