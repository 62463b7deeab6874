"""The exercises of Chapter 1, one small file for each idea."""

CHAPTER = "1 · Foundations"
