"""The password of this project's Prefect server: made once, kept in a file that only its owner can read.

The server requires it, the runner and the flows send it, and a person enters it in the UI. It has the form that Prefect
expects, `mediarank:` and 32 random characters.
"""

from __future__ import annotations

import base64
import os
import re
import secrets
import stat
from pathlib import Path
from typing import Final

FILE: Final = "prefect.auth"
USER: Final = "mediarank"
_PASSWORD: Final = re.compile(r"(\w://[^\s/:@]*:)[^\s/]+(@)")
"""The password in an address: the text between the user's name and the last @ before the path."""


def access_file(root: Path) -> Path:
    from mediarank.ops.services.environment import state_folder

    return state_folder(root) / FILE


def prefect_access(root: Path) -> str:
    """The password, created if there is none yet."""
    path = access_file(root)
    if not path.exists():
        draft = path.with_name(f"{FILE}.{secrets.token_hex(4)}")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(handle, f"{USER}:{secrets.token_hex(16)}\n".encode())
            os.fsync(handle)
        finally:
            os.close(handle)
        try:
            os.link(draft, path)  # unlike a rename, this never replaces a file that another process has just made
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        from mediarank.types import MediarankError

        raise MediarankError(
            f"{path} can be read by other users (mode {mode:o}). Delete it, then run make down and make up."
        )
    return path.read_text().strip()


def authorization(access: str) -> dict[str, str]:
    """The header that a request to the server needs."""
    return {"Authorization": f"Basic {base64.b64encode(access.encode()).decode()}"}


def redacted(text: str) -> str:
    """The message with the passwords in addresses replaced.

    >>> redacted("postgresql://me:secret@host/mlflow can't be used")
    "postgresql://me:***@host/mlflow can't be used"
    """
    return _PASSWORD.sub(r"\1***\2", text)
