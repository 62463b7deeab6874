"""Put the current scripts of the explorables into the notebooks: `python tools/refresh_explorables.py`.

A notebook stores the script, style, question and size of each explorable. If only these have changed, no other output
changes, so no cell is run.
"""

import json
from pathlib import Path

from attnlib.viz import explorables
from attnlib.viz.explorables import Explorable

ROOT = Path(__file__).resolve().parent.parent


def current(kind: type[Explorable]) -> dict:
    """The state that a stored explorable of this kind should have."""
    own = vars(kind)
    return {"_esm": own["_esm"], "_css": own["_css"], "question": kind.QUESTION, "size": list(kind.SIZE)}


def refreshed(text: str) -> str:
    """The text of a notebook with the current scripts."""
    notebook = json.loads(text)
    for stored in notebook["metadata"].get("widgets", {}).values():
        for model in stored["state"].values():
            if "_esm" in model["state"]:
                name = model["state"]["_anywidget_id"].rpartition(".")[2]
                model["state"].update(current(getattr(explorables, name)))
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    for path in sorted((ROOT / "book").glob("[0-9]*/*.ipynb")):
        old = path.read_text(encoding="utf-8")
        new = refreshed(old)
        if new != old:
            path.write_text(new, encoding="utf-8")
            print(f"{path.relative_to(ROOT)}: refreshed")


if __name__ == "__main__":
    main()
