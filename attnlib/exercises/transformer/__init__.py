"""The exercises of Chapter 4, one small file for each idea."""

CHAPTER = "4 · The Transformer"
