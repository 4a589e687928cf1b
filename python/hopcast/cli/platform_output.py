"""Platform files that a command makes: checked before they stand in the place of older ones."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from hopcast.errors import InputError


def write(texts: Mapping[Path, str], platform: Path) -> None:
    """Writes a platform file and those beside it, all of one directory; a faulty one is not written."""
    from hopcast import core
    from hopcast.calibrate import whole_file

    with tempfile.TemporaryDirectory() as folder:
        for place, text in texts.items():
            (Path(folder) / place.name).write_text(text)
        try:
            core.platform_text(str(Path(folder) / platform.name), (), True)
        except InputError as error:
            raise InputError(str(error).replace(f"{folder}/", f"{platform.parent}/")) from None
    for place, text in texts.items():
        whole_file.write(place, text)
