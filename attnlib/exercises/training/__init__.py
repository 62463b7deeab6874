"""The exercises of Chapter 5, one small file for each idea."""

CHAPTER = "5 · Training"
