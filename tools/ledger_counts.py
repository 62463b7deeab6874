"""How much of each chapter is taught and proved: `01 foundations: systems 28/28, equations 52/52, claims 78/78`.

A row counts if each anchor of its `where` is on a built page and each of its proofs exists and asserts something; what
is missing is listed. Ends with 1 if anything is.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book"))

from _ext.ledger import counts, load  # noqa: E402  # pyright: ignore[reportMissingImports]
from _ext.proofs import problems  # noqa: E402  # pyright: ignore[reportMissingImports]

BOOK, SITE = ROOT / "book", ROOT / "_build" / "html"


def main() -> int:
    rows = load(BOOK)
    missing = {id: problems(row, ROOT, SITE) for id, row in rows.items()}
    for chapter, kinds in counts(rows.values(), lambda id: not missing[id]).items():
        print(f"{chapter}: " + ", ".join(f"{kind} {done}/{due}" for kind, (done, due) in kinds.items()))
    sentences = [sentence for found in missing.values() for sentence in found]
    print("\n".join(sentences), end="\n" if sentences else "")
    return 1 if sentences else 0


if __name__ == "__main__":
    sys.exit(main())
