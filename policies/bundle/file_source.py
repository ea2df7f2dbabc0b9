"""A bundle in a file, which may be replaced while the process runs."""

from dataclasses import dataclass, field
from pathlib import Path

from policies.bundle.format import Bundle, read_bundle
from policies.bundle.signatures import NO_KEYS, BundleKeys

_Seen = tuple[int, int, int, int]


@dataclass
class FileSource:
    """Gives what is new in a file; not for several threads at once."""

    path: Path
    keys: BundleKeys = NO_KEYS
    """By which it must be signed."""
    _seen: _Seen | None = field(default=None, init=False)
    _digest: str = field(default="", init=False)

    def read(self) -> Bundle:
        """Return the bundle as it is now.

        Raises:
            BundleRefusedError: it is missing, damaged, or not signed as it must be.
        """
        self._seen, self._digest = self._look(), ""
        bundle = read_bundle(self.path, self.keys)
        self._digest = bundle.digest
        return bundle

    def changed(self) -> Bundle | None:
        """Return the bundle where the file holds another than before; else None.

        Raises:
            BundleRefusedError: as `read`, once for each state of the file.
        """
        if self._look() == self._seen:
            return None
        before = self._digest
        bundle = self.read()
        return bundle if bundle.digest != before else None

    def _look(self) -> _Seen | None:
        """Return the file's identity: a kubelet replaces a link to it, editors the file."""
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino
