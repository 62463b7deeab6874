"""The 256 bytes, each with a character that can be printed (book: Chapter 4).

In `vocab.json` and `merges.txt` a token is written with these characters, so that spaces (Ġ) and line ends (Ċ) do
not break the file. The order of these characters also numbers the bytes: 0 is `!`, 220 is the space.
"""


def characters_of_bytes() -> dict[int, str]:
    """The character of each byte, in the order of the token numbers: printable bytes first, then the other 68.

    >>> characters = characters_of_bytes()
    >>> characters[ord("a")], characters[ord(" ")], list(characters).index(ord(" "))
    ('a', 'Ġ', 220)
    """
    printing = [
        *range(ord("!"), ord("~") + 1),
        *range(ord("¡"), ord("¬") + 1),
        *range(ord("®"), ord("ÿ") + 1),
    ]
    others = [byte for byte in range(256) if byte not in printing]
    return {byte: chr(byte) for byte in printing} | {byte: chr(256 + i) for i, byte in enumerate(others)}


CHARACTERS = characters_of_bytes()
BYTES = tuple(bytes([byte]) for byte in CHARACTERS)  # by number
_BYTE_OF = {character: byte for byte, character in CHARACTERS.items()}


def spelled(token: bytes) -> str:
    """The token as it is written in the files.

    >>> spelled(" été".encode())
    'ĠÃ©tÃ©'
    """
    return "".join(CHARACTERS[byte] for byte in token)


def unspelled(written: str) -> bytes:
    """The bytes of a token that was read from a file.

    >>> unspelled("ĠÃ©tÃ©").decode()
    ' été'
    """
    foreign = [character for character in written if character not in _BYTE_OF]
    if foreign:
        raise ValueError(
            f"unspelled: a token must be written with the 256 characters that stand for bytes; got {foreign[0]!r} in "
            f"{written!r}. A space is written Ġ, and text outside ASCII byte by byte."
        )
    return bytes(_BYTE_OF[character] for character in written)


def bytes_of_name(name: str) -> bytes:
    """What a name in `vocab.json` stands for: the bytes that its characters spell, or else the name itself.

    >>> bytes_of_name("<|endoftext|>"), bytes_of_name("Ġthe"), bytes_of_name("< end >")
    (b'<|endoftext|>', b' the', b'< end >')
    """
    return unspelled(name) if _BYTE_OF.keys() >= set(name) else name.encode()
