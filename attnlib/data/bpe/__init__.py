"""Byte-level byte-pair encoding by hand: from text to numbers and back, losing nothing (book: Chapter 4).

    alphabet       the 256 bytes, each with a character that can be printed
    pretokenize    the published pattern that cuts text into words first
    merging        one word: join the pair of lowest rank, until no pair has one
    queued         the same, quick for long words
    training       which pairs get a rank: the most frequent, one after the other
    special        tokens that no text is cut into
    streams        bytes that are no text, and texts that come in chunks
    tokenizer      all of it together
    files          vocab.json and merges.txt

The pattern needs the package `regex`; the rest needs Python alone.
"""
