"""The browser that checks, prints and photographs the pages.

Chromium's headless shell is the same engine without a window: a page opens and closes in a tenth of a second of
processor time, where the whole browser takes more than half a second for windows that nobody sees.
"""

import shutil

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
PATH = next(filter(None, map(shutil.which, NAMES)), None)
HOW = "Debian, Ubuntu: sudo apt-get install chromium-headless-shell, or chromium"
ARGUMENTS = ["--no-sandbox", "--font-render-hinting=slight"]  # letters as the whole browser draws them
