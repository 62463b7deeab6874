"""What the links to symbols and terms say: kept out of sight on a page until a link is pointed at."""

import re
from html import escape
from typing import Any

from sphinx.application import Sphinx

from .chapters import number
from .glossary import place_of
from .maths import render
from .notation import Meaning


def add_meanings(app: Sphinx, page: str, template: str, context: dict[str, Any], document: object) -> None:
    """At the end of a notebook's page, a template for each symbol and term that a link of the page leads to."""
    if not number(page) or "body" not in context:
        return
    body = context["body"]
    for row in dict.fromkeys(app.course_notation.values()):  # type: ignore[attr-defined]
        if f'#{row.anchor}"' in body:
            context["body"] += preview(row.anchor, of_symbol(row))
    for entry, meaning in dict.fromkeys(app.course_glossary.values()):  # type: ignore[attr-defined]
        if f'#{place_of(entry)}"' in body:
            context["body"] += preview(place_of(entry), of_term(entry, meaning))


def preview(anchor: str, text: str) -> str:
    return f'<template data-preview="{anchor}">{text}</template>\n'


def of_symbol(row: Meaning) -> str:
    """The meaning of a symbol, with the shape and the name in code."""
    parts = [f"{typeset(row.symbols)}: {typeset(row.meaning)}"]
    parts += [typeset(row.shape)] if row.shape else []
    return f'<p class="meaning">{" · ".join(parts)} · in code <code>{escape(row.code)}</code></p>'


def of_term(entry: str, meaning: str) -> str:
    return f'<p class="meaning"><b>{escape(entry)}</b>: {emphasised(meaning)}</p>'


def emphasised(meaning: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", re.sub(r"\*([^*]+)\*", r"<em>\1</em>", typeset(meaning)))


def typeset(text: str) -> str:
    """Text with $formulas$ as HTML."""
    parts = re.split(r"\$([^$]+)\$", text)
    return "".join(render(part, False) if i % 2 else escape(part) for i, part in enumerate(parts))


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", add_meanings)
