"""The exercises of Chapter 3, one small file for each idea."""
