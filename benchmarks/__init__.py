"""Times and memory beside the peers: `make bench` runs each module here and stores its result for the book."""
