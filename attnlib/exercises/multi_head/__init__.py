"""The exercises of Chapter 3, one small file for each idea."""

CHAPTER = "3 · Multi-Head Attention"
