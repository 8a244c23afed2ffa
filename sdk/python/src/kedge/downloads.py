"""File downloads, verified against the log."""

import hashlib
from typing import BinaryIO

from .errors import Refused
from .generated import models


class Download:
    """Writes a file's bytes, and verifies them at the end."""

    def __init__(self, file: models.FileView, to: BinaryIO) -> None:
        self._file = file
        self._to = to
        self._hash = hashlib.sha256()
        self._size = 0

    def write(self, chunk: bytes) -> None:
        """Writes the next bytes."""
        self._hash.update(chunk)
        self._size += len(chunk)
        self._to.write(chunk)

    def finish(self) -> models.FileView:
        """The file's metadata.

        Raises:
            Refused: the bytes do not match the signed digest.
        """
        found = "0x" + self._hash.hexdigest()
        if (found, self._size) != (self._file["sha256"], self._file["size_bytes"]):
            raise Refused(f"{self._file['id']}: {self._size} bytes with the digest {found}, not {self._file['sha256']}")
        return self._file
