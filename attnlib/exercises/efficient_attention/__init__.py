"""The exercises of Chapter 6, one small file for each idea."""

CHAPTER = "6 · Efficient Attention"
