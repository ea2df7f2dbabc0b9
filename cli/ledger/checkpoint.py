"""`sallyport ledger checkpoint`: a head as others read it (https://c2sp.org/tlog-checkpoint)."""

from typing import Final

from app.records.ledger import open_ledger, signing_key
from app.settings.root import Settings
from audit.ledger.log.checkpoints import origin_of, parse_checkpoint, sign_checkpoint
from audit.ledger.log.heads import TreeHead
from audit.ledger.log.keys import read_key
from audit.ledger.log.signed_notes import Note, SignatureType, VerifierKey
from audit.ledger.store.queries import LedgerQueries
from audit.ledger.witness.submissions import Submission
from cli.ledger.proof import find_head
from core.base.errors import LedgerError, SettingsError

_FIX: Final = "run this where the auditor's key is, or name it in ledger.signing_key"


async def make_checkpoint(settings: Settings, size: int | None, old: int | None) -> bytes:
    """Return the checkpoint of a head; with `old` the request to a witness that has seen that size.

    Raises:
        SettingsError: `old` is larger than the head.
        LedgerError: there is no such head or key, or the ledger does not answer.
    """
    async with open_ledger(settings) as ledger:
        head = await find_head(ledger, size)
        note = await _sign(settings, ledger, head)
        if old is None:
            return note.content
        if old > head.size:
            raise SettingsError(f"--old {old}: it is larger than the head, {head.size}")
        proof = tuple(await ledger.consistency(old, head.size)) if old else ()
        return Submission(old, proof, note, parse_checkpoint(note.text)).content


async def find_verifier_key(settings: Settings) -> str:
    """Return the public key of the log for witnesses: NAME+ID+BASE64.

    Raises:
        LedgerError: there is no key, or the ledger does not answer.
    """
    async with open_ledger(settings) as ledger:
        origin = origin_of((await ledger.log_state()).id)
    key = read_key(path := signing_key(settings))
    if key is None:
        raise LedgerError(f"ledger.signing_key: {path}: there is no such file: {_FIX}")
    return VerifierKey.of(origin, SignatureType.NOTE, key.public_key()).text


async def _sign(settings: Settings, ledger: LedgerQueries, head: TreeHead) -> Note:
    """Sign the checkpoint of a head, once the ledger's entries lead to it."""
    key = read_key(path := signing_key(settings))
    if key is None:
        raise LedgerError(f"ledger.signing_key: {path}: there is no such file: {_FIX}")
    if (await ledger.frontier(head.size)).root.hex() != head.root:
        raise LedgerError(
            f"its head of {head.size:,} records is not of these records: nothing is signed; "
            "`sallyport ledger verify` says more"
        )
    return sign_checkpoint(head, key)
