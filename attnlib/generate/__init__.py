"""`attnlib generate`: what a trained model writes. `text` is the text, `command` the command with its options."""
