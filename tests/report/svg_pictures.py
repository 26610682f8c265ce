"""Pictures of the page read back: the elements of an SVG, and the texts of its titles."""

from __future__ import annotations

from xml.etree import ElementTree as Xml

_SPACE = "{http://www.w3.org/2000/svg}"


def parsed(picture: str) -> Xml.Element:
    """The picture as a tree; names of elements are without their space."""
    root = Xml.fromstring(picture)
    for each in root.iter():
        each.tag = each.tag.removeprefix(_SPACE)
    return root


def titles(picture: str) -> list[str]:
    """The texts of all titles, in the order of the elements."""
    return [each.text or "" for each in parsed(picture).iter("title")]
