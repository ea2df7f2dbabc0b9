"""The witness: judges a request by what it has seen, keeps what it signs, then signs."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.ledger.log.checkpoints import cosign
from audit.ledger.log.signed_notes import (
    Note,
    NoteError,
    NoteSignature,
    SignatureType,
    VerifierKey,
    demand_name,
)
from audit.ledger.witness.state import WitnessState
from audit.ledger.witness.submissions import (
    Submission,
    SubmissionRefusal,
    find_refusal,
    find_stranger,
    parse_submission,
)


@dataclass(frozen=True)
class WitnessIdentity:
    """Who signs."""

    name: str
    key: Ed25519PrivateKey

    @property
    def verifier(self) -> VerifierKey:
        """The public key, with its name.

        Raises:
            NoteError: the name is none.
        """
        return VerifierKey.of(
            demand_name(self.name), SignatureType.COSIGNATURE, self.key.public_key()
        )


class Witness:
    """A witness of logs that it knows by their keys. Threads may use it at the same time."""

    def __init__(
        self,
        identity: WitnessIdentity,
        logs: Mapping[str, Sequence[VerifierKey]],
        state: WitnessState,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Take the keys of logs by their origins."""
        self._identity = identity
        self._logs = logs
        self._state = state
        self._clock = clock
        self._lock = threading.Lock()

    def add_checkpoint(self, content: bytes) -> NoteSignature | SubmissionRefusal:
        """Return the cosignature of a request's checkpoint, which is kept by then; or why not.

        Raises:
            LedgerError: what was seen before cannot be read, or this cannot be kept.
        """
        try:
            submission = parse_submission(content)
        except NoteError as error:
            return SubmissionRefusal(HTTPStatus.BAD_REQUEST, str(error))
        if refusal := find_stranger(submission, self._logs):
            return refusal
        origin = submission.checkpoint.origin
        with self._lock, self._state.locked():
            if refusal := find_refusal(submission, self._logs, self._state.read(origin)):
                return refusal
            signature = self._sign(submission)
            note = Note(submission.note.text, (*self._known(submission), signature))
            self._state.write(origin, note.content.decode())
        return signature

    def find_checkpoint(self, origin_digest: str) -> str | None:
        """Return the last checkpoint of a log with its cosignature; None where there is none.

        Raises:
            LedgerError: it cannot be read.
        """
        return self._state.find_note(origin_digest)

    def _sign(self, submission: Submission) -> NoteSignature:
        identity = self._identity
        return cosign(submission.note.text, identity.name, identity.key, int(self._clock()))

    def _known(self, submission: Submission) -> list[NoteSignature]:
        """Return the signatures of the log, without those of others that came with them."""
        keys = self._logs[submission.checkpoint.origin]
        return [found for key in keys if (found := key.signed(submission.note)) is not None]
