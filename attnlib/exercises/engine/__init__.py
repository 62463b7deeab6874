"""The engine: runs an answer, compares what it did with the solution and the known mistakes, and says what it saw."""
