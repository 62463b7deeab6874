"""The exercises of Chapter 2, one small file for each idea."""

CHAPTER = "2 · Self-Attention"
