"""Requests to a witness, and what it answers by what it has seen (https://c2sp.org/tlog-witness).

Pure. A request is `add-checkpoint`'s body: `old SIZE`, a proof's hashes in base64, a line each, an
empty line, and the checkpoint with its signatures.
"""

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from audit.ledger.log.checkpoints import Checkpoint, parse_checkpoint, parse_hash
from audit.ledger.log.merkle import EMPTY_ROOT, proves_consistency
from audit.ledger.log.signed_notes import (
    MOST_NOTE,
    Note,
    NoteError,
    VerifierKey,
    demand_signed,
    parse_note,
)

MOST_PROOF: Final = 63
"""Hashes of a proof."""

MOST_BODY: Final = MOST_NOTE + 4096
"""Bytes of a request."""

SIZE_TYPE: Final = "text/x.tlog.size"
"""Of the answer 409."""

_OLD: Final = re.compile(r"old (0|[1-9][0-9]{0,18})")


@dataclass(frozen=True, slots=True)
class Submission:
    """A checkpoint that a witness is to sign."""

    old: int
    """The size of the checkpoint that the proof leads from."""
    proof: tuple[bytes, ...]
    note: Note
    checkpoint: Checkpoint

    @property
    def content(self) -> bytes:
        """The body of the request."""
        hashes = "".join(f"{base64.b64encode(each).decode()}\n" for each in self.proof)
        return f"old {self.old}\n{hashes}\n".encode() + self.note.content


@dataclass(frozen=True, slots=True)
class SeenCheckpoint:
    """The last checkpoint of a log that a witness cosigned; the empty tree before the first."""

    size: int = 0
    root: bytes = EMPTY_ROOT
    note: str = ""
    """With the log's signatures and the witness's own."""


@dataclass(frozen=True, slots=True)
class SubmissionRefusal:
    """A checkpoint is not signed: by which status of HTTP, and why."""

    status: HTTPStatus
    text: str
    fork: str = ""
    """Where it cosigned another root of this size: what people are told; by HTTP it is a 409."""


def parse_submission(content: bytes) -> Submission:
    """Read a request.

    Raises:
        NoteError: it is none.
    """
    if len(content) > MOST_BODY:
        raise NoteError(f"a request has {MOST_BODY:,} bytes at most")
    head, found, note_content = content.partition(b"\n\n")
    old, *hashes = head.decode("ascii", errors="replace").split("\n")
    size = _OLD.fullmatch(old)
    if size is None or not found:
        raise NoteError("a request begins with `old SIZE`, a proof and an empty line")
    if len(hashes) > MOST_PROOF:
        raise NoteError(f"a proof has {MOST_PROOF} hashes at most")
    note = parse_note(note_content)
    proof = tuple(map(parse_hash, hashes))
    return Submission(int(size[1]), proof, note, parse_checkpoint(note.text))


def find_refusal(
    submission: Submission, logs: Mapping[str, Sequence[VerifierKey]], seen: SeenCheckpoint
) -> SubmissionRefusal | None:
    """Say why a checkpoint is not to be signed; None where it is. `logs` has keys by origin."""
    if refusal := find_stranger(submission, logs):
        return refusal
    old, new = submission.old, submission.checkpoint
    if old > new.size:
        text = f"the old size {old} is larger than that of the checkpoint, {new.size}"
        return SubmissionRefusal(HTTPStatus.BAD_REQUEST, text)
    if old != seen.size:
        return SubmissionRefusal(HTTPStatus.CONFLICT, str(seen.size))
    if old == new.size and new.root != seen.root:
        fork = f"FORK: at {old} entries another root was cosigned before"
        return SubmissionRefusal(HTTPStatus.CONFLICT, str(seen.size), fork)
    if not proves_consistency(old, new.size, seen.root, new.root, submission.proof):
        text = (
            f"the proof does not show that the tree of {new.size} entries continues the one of "
            f"{old} that was cosigned before"
        )
        return SubmissionRefusal(HTTPStatus.UNPROCESSABLE_ENTITY, text)
    return None


def find_stranger(
    submission: Submission, logs: Mapping[str, Sequence[VerifierKey]]
) -> SubmissionRefusal | None:
    """Say whether a checkpoint is of no log that is known, or is not signed by it."""
    keys = logs.get(submission.checkpoint.origin)
    if keys is None:
        return SubmissionRefusal(HTTPStatus.NOT_FOUND, "this origin is not known here (--log)")
    try:
        demand_signed(submission.note, keys)
    except NoteError as error:
        return SubmissionRefusal(HTTPStatus.FORBIDDEN, str(error))
    return None
