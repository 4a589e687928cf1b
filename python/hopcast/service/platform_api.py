"""Presets, patterns and pictures of networks in the HTTP interface."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Path, Response

from hopcast import core
from hopcast.service import drawings
from hopcast.service.access import Services, Signed
from hopcast.service.answers import PlatformText
from hopcast.service.api import ERRORS, PREFIX

_SVG = "image/svg+xml"
_PICTURE: dict[int | str, dict] = {200: {"content": {_SVG: {}}, "description": "A picture, as SVG."}}

router = APIRouter(prefix=PREFIX, responses=ERRORS, tags=["platforms and patterns"])


class Picture(Response):
    """A picture, which may load and execute nothing where it is opened by itself."""

    media_type = _SVG

    def __init__(self, content: Any, status_code: int = 200) -> None:
        policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
        super().__init__(content, status_code, {"Content-Security-Policy": policy})


@router.get("/platforms")
def presets(user: Signed) -> list[dict[str, Any]]:
    """Lists presets."""
    return core.registry("platforms")["entries"]


@router.get("/patterns")
def patterns(user: Signed) -> list[dict[str, Any]]:
    """Lists patterns, with their parameters."""
    return core.registry("patterns")["entries"]


@router.get("/platforms/{name}/drawing", response_class=Picture, responses=_PICTURE)
def preset_drawing(name: Annotated[str, Path(max_length=200)], user: Signed) -> Response:
    """Draws the network of a preset."""
    picture = drawings.of_preset(name)
    if picture is None:
        raise HTTPException(404, "there is no such preset")
    return Picture(picture)


@router.post("/drawings", response_class=Picture, responses=_PICTURE)
def drawing(body: PlatformText, user: Signed, service: Services) -> Response:
    """Draws the network of a platform file, or says what is wrong with it."""
    return Picture(service.pool.draw(body.platform, {}))
