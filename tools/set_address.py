"""Set the book's address, as publish.toml gives it, in every file that names it.

The old address is read from _config.yml, which always holds the one that was set last.
"""

import subprocess
import sys
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
CURRENT = ROOT / "_config.yml"


def wanted(root: Path = ROOT) -> dict[str, str]:
    """The address in publish.toml, checked."""
    address = tomllib.loads((root / "publish.toml").read_text(encoding="utf-8"))
    if address["repository"].count("/") != 1:
        raise SystemExit(f"publish.toml: repository must read OWNER/NAME; got {address['repository']!r}.")
    if not (address["site"].startswith("https://") and address["site"].endswith("/")):
        raise SystemExit(
            f"publish.toml: site must start with https:// and end with /; got {address['site']!r}."
        )
    return address


def current(root: Path = ROOT) -> dict[str, str]:
    """The address that is in the files now."""
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    repository = config["repository"]
    return {
        "repository": repository["url"].removeprefix("https://github.com/"),
        "branch": repository["branch"],
        "site": config["html"]["baseurl"],
    }


def tracked_text_files(root: Path = ROOT) -> list[Path]:
    """Every text file under version control."""
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True
    ).stdout
    paths = [root / name for name in names.split("\0") if name]
    return [path for path in paths if path.is_file() and b"\0" not in path.read_bytes()[:8000]]


def replace_address(text: str, old: dict[str, str], new: dict[str, str]) -> str:
    """`text` with the site and the repository replaced; the branch occurs in links to the repository only."""
    text = text.replace(old["site"], new["site"])
    for kind in ("blob", "tree", "edit", "raw"):
        text = text.replace(
            f"{old['repository']}/{kind}/{old['branch']}/", f"{new['repository']}/{kind}/{new['branch']}/"
        )
    binder = "gh/{repository}/{branch}"
    text = text.replace(binder.format(**old), binder.format(**new))
    text = text.replace(f"github.com/{old['repository']}", f"github.com/{new['repository']}")
    return text.replace(f"github/{old['repository']}", f"github/{new['repository']}")


def main() -> None:
    old, new = current(), wanted()
    changed = []
    for path in tracked_text_files():
        if path.name == "publish.toml":
            continue
        text = path.read_text(encoding="utf-8")
        after = replace_address(text, old, new)
        if path == CURRENT:
            after = after.replace(f"branch: {old['branch']}", f"branch: {new['branch']}")
        if after != text:
            path.write_text(after, encoding="utf-8")
            changed.append(str(path.relative_to(ROOT)))
    print(f"The address is {new['site']} ({new['repository']}); changed: {', '.join(changed) or 'nothing'}.")


if __name__ == "__main__":
    sys.exit(main())
