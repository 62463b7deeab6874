"""Byte-level byte-pair encoding by hand: from text to numbers and back, without loss (book: Chapter 4).

    alphabet       the 256 bytes, each with a character that can be printed
    pretokenize    the published pattern that cuts text into words first
    merging        one word: join the pair of lowest rank, until no pair has one
    queued         the same, fast for long words
    training       which pairs get a rank: the most frequent, one after the other
    special        tokens such as <|endoftext|>, which ordinary text never becomes
    streams        bytes that are not valid text, and text that arrives in chunks
    tokenizer      the class Tokenizer, from all of these
    counting       the words of large files, in several processes
    files          vocab.json and merges.txt

The pattern needs the package `regex`; the rest needs Python alone.
"""
