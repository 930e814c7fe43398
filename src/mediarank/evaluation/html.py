"""Markup that is safe by construction, and what may be put inside a page: text, pictures, SVG figures.

`element` builds a tag; plain strings among its children are escaped, `Markup` is not, and only this module and the
report's templates make `Markup`. So labels and file names, which come from data, are always escaped.
`data_uri` and `inline_svg` check what they embed: the page must load nothing and run nothing.
"""

from __future__ import annotations

import base64
import re
from html import escape
from html.parser import HTMLParser
from typing import Final

from mediarank.types import DataError

UNPRINTABLE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
"""Control characters, direction overrides (which make a name read as another) and lone surrogates."""

VOID_TAGS: Final = frozenset({"br", "img", "meta"})
PICTURES: Final = {b"\xff\xd8\xff": "image/jpeg", b"\x89PNG\r\n\x1a\n": "image/png"}
FORBIDDEN_TAGS: Final = frozenset(
    {"a", "audio", "embed", "foreignobject", "iframe", "image", "object", "script", "video"}
)


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def printable(value: object) -> str:
    """The value as text, with unprintable characters replaced."""
    return UNPRINTABLE.sub("\ufffd", str(value))


def element(tag: str, *children: str, **attributes: str | int | bool | None) -> Markup:
    """`<tag attributes>children</tag>`; `class_` stands for class, and _ for - (`aria_label`).

    An attribute that is None or False is left out.

    >>> element("p", "a < b ", element("b", "c"), class_="note")
    '<p class="note">a &lt; b <b>c</b></p>'
    """
    given = "".join(
        f" {name.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(printable(value))}"')
        for name, value in attributes.items()
        if value is not None and value is not False
    )
    if tag in VOID_TAGS:
        return Markup(f"<{tag}{given}>")
    return Markup(f"<{tag}{given}>{join(*children)}</{tag}>")


def join(*children: str) -> Markup:
    """Children one after the other, plain text escaped."""
    return Markup("".join(c if isinstance(c, Markup) else escape(printable(c), quote=False) for c in children))


def prose(text: str) -> Markup:
    """Text in which `backticks` mark commands.

    >>> prose("run `dvc repro` & wait")
    'run <code>dvc repro</code> &amp; wait'
    """
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a lone backtick, from a name
        return join(text)
    return join(*(element("code", part) if k % 2 else part for k, part in enumerate(parts)))


def data_uri(picture: bytes) -> str:
    """A small JPEG or PNG as a `data:` address that contains the picture."""
    for signature, kind in PICTURES.items():
        if picture.startswith(signature):
            return f"data:{kind};base64,{base64.b64encode(picture).decode('ascii')}"
    raise DataError(f"A thumbnail must be JPEG or PNG bytes, but these begin with {picture[:8]!r}.")


def inline_svg(svg: str, prefix: str, label: str) -> Markup:
    """A figure as part of the page: ids made unique by `prefix`, no fixed size, `label` for those who can't see it."""
    start = svg.find("<svg")
    if start < 0:
        raise DataError("A figure must be an SVG image; make it with mediarank.evaluation.figures.")
    body = svg[start:]
    guard = _SvgGuard()
    guard.feed(body)
    guard.close()
    head, _, rest = body.partition(">")
    view = re.search(r'viewBox="[-\d. ]+"', head)
    if view is None:
        raise DataError("A figure's SVG must have a viewBox, so that it can be scaled to the page.")
    rest = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", rest, flags=re.DOTALL)  # it would apply to the page
    rest = re.sub(r'\bid="', f'id="{prefix}', rest)
    rest = re.sub(r'(url\(|href=")#', rf"\1#{prefix}", rest)
    title = escape(printable(label))
    return Markup(f'<svg {view.group()} role="img" aria-label="{title}">{rest.strip()}')


class _SvgGuard(HTMLParser):
    """Refuses an SVG that could load or run something."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in FORBIDDEN_TAGS:
            raise DataError(f"A figure may not contain <{tag}>: the report loads and runs nothing.")
        for name, value in attrs:
            outside = name in ("href", "xlink:href", "src") and not (value or "").startswith("#")
            fetched = re.search(r"url\(\s*['\"]?(?!#)", value or "")
            if name.startswith("on") or outside or fetched:
                raise DataError(f"A figure may not contain {name}={value!r}: the report loads and runs nothing.")
