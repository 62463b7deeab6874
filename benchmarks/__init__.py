"""Measured and stored for the book: `make bench` for times and memory beside the peers, `make gpu` on a GPU."""
