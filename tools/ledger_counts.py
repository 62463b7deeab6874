"""How much of each chapter is taught and proved: `01 foundations: systems 28/28, equations 52/52, claims 78/78`.

A row counts if each of its places is on a built page and each of its proofs exists and asserts something; what is
missing is listed. Ends with 1 if anything is.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book"))

from _ext.ledger import counts, load, load_syllabus  # noqa: E402  # pyright: ignore[reportMissingImports]
from _ext.proofs import problems  # noqa: E402  # pyright: ignore[reportMissingImports]

LEDGER, SITE = ROOT / "book" / "ledger", ROOT / "_build" / "html"


def main() -> int:
    rows, syllabus = load(LEDGER), load_syllabus(LEDGER)
    missing = {
        row: problems(rows[row], ROOT, SITE) if row in rows else [f"{row}: the ledger has no such row."]
        for ids in syllabus.values()
        for row in ids
    }
    for chapter, kinds in counts(syllabus, lambda row: not missing[row]).items():
        print(f"{chapter}: " + ", ".join(f"{kind} {done}/{due}" for kind, (done, due) in kinds.items()))
    sentences = [sentence for found in missing.values() for sentence in found]
    print("\n".join(sentences), end="\n" if sentences else "")
    return 1 if sentences else 0


if __name__ == "__main__":
    sys.exit(main())
