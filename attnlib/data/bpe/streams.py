"""Bytes as text without loss, even where they are not valid UTF-8 (book: Chapter 4).

A byte that is not part of a valid character is represented by a reserved character (Python's "surrogateescape"), which
is turned into the same byte again when the word is encoded.
"""

import codecs
from collections.abc import Iterable, Iterator


def texts_of(chunks: Iterable[str] | Iterable[bytes]) -> Iterator[str]:
    r"""The text of each chunk; a character that is split between two chunks comes with the second.

    >>> list(texts_of([b"n\xc3", b"\xa9", b"\xff"]))
    ['n', 'é', '\udcff', '']
    """
    decoder = codecs.getincrementaldecoder("utf-8")(errors="surrogateescape")
    for chunk in chunks:
        yield decoder.decode(_bytes_of(chunk))
    yield decoder.decode(b"", final=True)


def readable(text: str | bytes) -> str:
    r"""One text, or bytes, as a text.

    >>> readable("né"), readable(b"n\xff")
    ('né', 'n\udcff')
    """
    return "".join(texts_of([_bytes_of(text)]))


def _bytes_of(chunk: str | bytes) -> bytes:
    if isinstance(chunk, bytes | bytearray):
        return bytes(chunk)
    if not isinstance(chunk, str):
        raise TypeError(
            f"Tokenizer: what is encoded must be text or bytes; got {type(chunk).__name__}. Chunks of either go to "
            "encode_stream, a file's path to encode_file."
        )
    try:
        return chunk.encode(errors="surrogateescape")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"Tokenizer: text must consist of whole characters; got half of one, {chunk[error.start]!r}, at "
            f"{error.start}. Pass the bytes that it was read from."
        ) from None
