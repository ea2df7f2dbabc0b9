"""What a witness has seen: a file for each log, in a folder, on the disk before it signs.

A file that is damaged or gone is an error, never the beginning of a log: whoever could make the
witness forget could have it sign a fork.
"""

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from audit.ledger.log.checkpoints import parse_checkpoint
from audit.ledger.log.signed_notes import parse_note
from audit.ledger.witness.submissions import SeenCheckpoint
from core.base.document_part import require_format
from core.base.errors import LedgerError
from core.base.whole_files import write_whole

FORMAT: Final = 1
"""Version of a file. Readers of release N read FORMAT - 1 and FORMAT + 1 as well."""

_LIST: Final = "logs"
_MODE: Final = 0o600


class _StoredCheckpoint(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One file."""

    format: int
    note: str
    digest: str
    """SHA-256 of the note, hex."""


class WitnessState:
    """The folder. Several processes may use it: `locked` lets one at a time."""

    def __init__(self, folder: Path) -> None:
        """Take the folder, which must be there."""
        self._folder = folder

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep others from signing meanwhile.

        Raises:
            LedgerError: the folder is not there, or cannot be written.
        """
        try:
            file = os.open(self._folder / ".lock", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, _MODE)
        except OSError as error:
            raise LedgerError(f"--state {self._folder}: {error.strerror}") from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
        finally:
            os.close(file)

    def read(self, origin: str) -> SeenCheckpoint:
        """Return what was seen of a log last.

        Raises:
            LedgerError: its file cannot be read, is damaged, or is gone.
        """
        path = self._path(origin)
        try:
            content = path.read_bytes()
            known = self._known()
        except FileNotFoundError:
            if origin_digest(origin) in self._known():
                raise _damaged(path, "it is gone") from None
            return SeenCheckpoint()
        except OSError as error:
            raise _damaged(path, str(error.strerror)) from None
        try:
            seen = _parse(content, origin)
        except ValueError as error:
            raise _damaged(path, str(error)) from None
        if origin_digest(origin) not in known:  # Stopped between the two files.
            self._note(origin, known)
        return seen

    def find_note(self, digest: str) -> str | None:
        """Return the checkpoint, with its cosignature, of the log whose origin has this digest.

        Raises:
            LedgerError: its file cannot be read, or is damaged.
        """
        if digest not in self._known():
            return None
        path = self._folder / f"{digest}.json"
        try:
            return _parse(path.read_bytes(), None).note
        except OSError as error:
            raise _damaged(path, str(error.strerror)) from None
        except ValueError as error:
            raise _damaged(path, str(error)) from None

    def write(self, origin: str, note: str) -> None:
        """Keep a checkpoint: when this returns it survives a crash.

        Raises:
            LedgerError: it is not kept.
        """
        digest = hashlib.sha256(note.encode()).hexdigest()
        stored = _StoredCheckpoint(format=FORMAT, note=note, digest=digest)
        path = self._path(origin)
        try:
            write_whole(path, msgspec.json.encode(stored) + b"\n", _MODE)
            self._sync()
            known = self._known()
            if origin_digest(origin) not in known:
                self._note(origin, known)
        except OSError as error:
            raise LedgerError(f"--state: {path}: {error.strerror}: nothing is cosigned") from None

    def _known(self) -> set[str]:
        """Return the digests of the origins of which there must be a file."""
        try:
            return set((self._folder / _LIST).read_text().split())
        except FileNotFoundError:
            return set()
        except (OSError, UnicodeDecodeError):
            raise _damaged(self._folder / _LIST, "it cannot be read") from None

    def _note(self, origin: str, known: set[str]) -> None:
        lines = sorted({*known, origin_digest(origin)})
        write_whole(self._folder / _LIST, "".join(f"{each}\n" for each in lines).encode(), _MODE)
        self._sync()

    def _path(self, origin: str) -> Path:
        return self._folder / f"{origin_digest(origin)}.json"

    def _sync(self) -> None:
        """Bring the names of new files to the disk: `write_whole` brings their contents."""
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def origin_digest(origin: str) -> str:
    """Return how an origin is named in files and in `GET <prefix>/<origin hash>/checkpoint`."""
    return hashlib.sha256(origin.encode()).hexdigest()


def _parse(content: bytes, origin: str | None) -> SeenCheckpoint:
    stored = msgspec.json.decode(content, type=_StoredCheckpoint)
    require_format(stored.format, FORMAT)
    if hashlib.sha256(stored.note.encode()).hexdigest() != stored.digest:
        raise ValueError("digest: it is not that of the note")
    checkpoint = parse_checkpoint(parse_note(stored.note.encode()).text)
    if origin not in {None, checkpoint.origin}:
        raise ValueError("note: it is of another log")
    return SeenCheckpoint(checkpoint.size, checkpoint.root, stored.note)


def _damaged(path: Path, why: str) -> LedgerError:
    return LedgerError(
        f"--state: {path}: {why}; nothing is cosigned of this log: put back a copy made after the "
        "last cosignature (an older one would cosign a fork), or begin as another witness, with "
        "a new --name, --key and --state"
    )
