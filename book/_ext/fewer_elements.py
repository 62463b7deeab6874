"""Finished pages get fewer HTML elements: words of code that have no colour of their own need none.

A page has ten thousand words of code, and every element costs time before the first paint on a slow machine.
"""

import re

CODE = re.compile(r"<pre>(?:(?!</pre>).)*</pre>", re.S)
PLAIN = re.compile(r'<span(?: class="(?:w|n|nn|gp|go)")?>([^<]*)</span>')
NEIGHBOURS = re.compile(r'(<span class="(\w+)">[^<]*)</span>(\s*)<span class="\2">')


def join_spans(code: str) -> str:
    """Coloured code in fewer elements, which looks the same.

    >>> join_spans('<pre><span></span><span class="n">f</span><span class="p">(</span><span class="p">)</span></pre>')
    '<pre>f<span class="p">()</span></pre>'
    """
    code = PLAIN.sub(r"\1", code)
    while (joined := NEIGHBOURS.sub(r"\1\3", code)) != code:
        code = joined
    return code


def with_fewer_elements(html: str) -> str:
    """A finished page with fewer elements."""
    return CODE.sub(lambda found: join_spans(found[0]), html)
