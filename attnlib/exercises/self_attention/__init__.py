"""The exercises of Chapter 2, one small file for each idea."""
