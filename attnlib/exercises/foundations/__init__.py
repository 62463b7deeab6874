"""The exercises of Chapter 1, one small file for each idea."""
