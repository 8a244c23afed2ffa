"""Downloads of files, checked against what the log holds."""

import hashlib
from typing import BinaryIO

from .errors import Refused
from .generated import models


class Download:
    """Writes a file's bytes, and checks at the end that they are the file's."""

    def __init__(self, file: models.FileView, to: BinaryIO) -> None:
        self._file = file
        self._to = to
        self._hash = hashlib.sha256()
        self._size = 0

    def write(self, chunk: bytes) -> None:
        """Takes the next bytes."""
        self._hash.update(chunk)
        self._size += len(chunk)
        self._to.write(chunk)

    def finish(self) -> models.FileView:
        """The file's metadata.

        Raises:
            Refused: the bytes are not those of the digest that was signed.
        """
        found = "0x" + self._hash.hexdigest()
        if (found, self._size) != (self._file["sha256"], self._file["size_bytes"]):
            raise Refused(f"{self._file['id']}: {self._size} bytes with the digest {found}, not {self._file['sha256']}")
        return self._file
