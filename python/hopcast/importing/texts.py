"""Files of others as text: decompressed, bounded, without colours of a terminal; XML without entities."""

from __future__ import annotations

import gzip
import lzma
import re
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO
from xml.etree.ElementTree import Element, ParseError

from hopcast.archive import DAMAGED
from hopcast.errors import InputError

MOST_BYTES = 256 << 20
"""Longest text that is read, after decompression."""
MOST_ELEMENTS = 4_000_000
_OPENERS: dict[str, Callable[..., BinaryIO]] = {".xz": lzma.open, ".gz": gzip.open}  # type: ignore[dict-item]
_TERMINAL = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|[@-Z\\-_])|\r(?=\n)|[\x00\ufeff]")


def read(place: Path) -> str:
    """Contents of a file, plain or compressed with xz or gzip."""
    try:
        with _OPENERS.get(place.suffix, open)(place, "rb") as file:
            content = file.read(MOST_BYTES + 1)
    except (*DAMAGED, gzip.BadGzipFile) as error:
        raise InputError(f"{place}: the compressed file is damaged: {error}") from None
    except OSError as error:
        raise InputError(f"{place}: cannot be read: {error.strerror or error}") from None
    if len(content) > MOST_BYTES:
        raise InputError(f"{place}: more than {MOST_BYTES >> 20} MiB: too long for a description")
    return plain(content.decode(errors="replace"))


def plain(text: str) -> str:
    """Text without escape sequences of terminals, carriage returns, null bytes and byte order marks."""
    return _TERMINAL.sub("", text)


def xml(text: str, place: str) -> Element:
    """Root of an XML text; entities are refused, so that a short text cannot grow long."""
    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    try:
        root = fromstring(text)
    except ParseError as error:
        raise InputError(f"{place}: not complete XML: {error}") from None
    except DefusedXmlException as error:
        raise InputError(f"{place}: XML with entities of its own is refused: {error}") from None
    except (ValueError, LookupError) as error:
        raise InputError(f"{place}: not XML: {error}") from None
    if sum(1 for _ in zip(root.iter(), range(MOST_ELEMENTS + 1), strict=False)) > MOST_ELEMENTS:
        raise InputError(f"{place}: more than {MOST_ELEMENTS:,} elements")
    return root


def number(text: str, place: str, name: str, most: int = 1 << 31) -> int:
    """Whole number from 0 to `most`."""
    if not (text.isascii() and text.isdigit()) or len(text) > 12 or int(text) > most:
        raise InputError(f"{place}: {name} '{text[:40]}' is not a whole number from 0 to {most}")
    return int(text)
