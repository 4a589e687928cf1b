"""Files of reports as answers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from fastapi.responses import FileResponse


def answered_file(file: Path, media_type: str, **options: Any) -> FileResponse:
    """Answer with a file. Raises `FileNotFoundError` for one that was deleted meanwhile."""
    # Without this look, the answer would look itself, and fail where nobody can say why.
    return FileResponse(file, media_type=media_type, stat_result=os.stat(file), **options)
