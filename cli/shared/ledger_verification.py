"""Verifies an export, a ledger or a proof against anchors and keys."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from app.records.ledger import ledger_password, ledger_url
from app.settings.root import Settings
from audit.ledger.log.anchor_check import AnchorReading, NotedHeads
from audit.ledger.log.cosigned_heads import CosignedHeads, read_cosigned
from audit.ledger.log.heads import TreeHead
from audit.ledger.log.keys import LogKeys, public_key
from audit.ledger.log.proofs import Proof, decode_proof, find_fault, heads_of
from audit.ledger.log.signed_notes import (
    MOST_NOTE,
    NoteError,
    SignatureType,
    VerifierKey,
    parse_note,
    parse_verifier_key,
)
from audit.ledger.log.timestamps import (
    MOST_LINE,
    TimestampedHeads,
    TimestampError,
    TimestampTrust,
    read_timestamps,
    read_trust,
)
from audit.ledger.log.verdict import Verdict, verdict_of
from audit.ledger.log.verifier import VerificationTerms, Verifier, VerifierTrust, verify_export
from audit.ledger.store.log_export import make_opening
from audit.ledger.store.verification import VerifiableLedger, verify_ledger
from cli import exits
from cli.session import Progress
from cli.shared.decision_queries import read_since
from cli.shared.ledger_keys import public_of, read_trusted_keys, trusted_keys_of
from core.base.errors import InvalidObjectError, LedgerError, SettingsError
from core.base.times import milli_text

_ROOT_DIGITS: Final = 64
_MOST_PROOF: Final = 16 * 1024 * 1024
_HOURS: Final = 24


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """What was asked for."""

    anchors: tuple[Path, ...] = ()
    heads: tuple[str, ...] = ()
    keys: tuple[Path, ...] = ()
    since: str | None = None
    until: str | None = None
    keep_days: int = 90
    late_days: float = 3.0
    cosigned: tuple[Path, ...] = ()
    """Checkpoints that witnesses cosigned."""
    witness_keys: tuple[str, ...] = ()
    timestamps: tuple[Path, ...] = ()
    """Files of the auditor's timestamps."""
    tsa_ca: Path | None = None

    def times(self, now_ms: int) -> tuple[int | None, int | None]:
        """Return the times that were asked for, in milliseconds since the epoch.

        Raises:
            SettingsError: one is none.
        """
        since = None if self.since is None else read_since(self.since, now_ms)
        return since, None if self.until is None else read_since(self.until, now_ms, "--until")

    def terms(self, now_ms: int) -> VerificationTerms:
        """Return the heads and keys that the verifier trusts."""
        since, until = ("" if each is None else milli_text(each) for each in self.times(now_ms))
        return VerificationTerms(self.keep_days, int(self.late_days * _HOURS), since, until, now_ms)


class CheckedProof(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`sallyport ledger verify --proof -o json`."""

    sound: bool
    proof: Proof
    problems: list[str]
    anchored: bool
    """Whether an anchor was asked."""


def verify(export: Path | None, settings: Settings | None, options: VerifyOptions) -> Verdict:
    """Verify an export, or without one the ledger of the settings.

    Raises:
        SettingsError: something that was typed is wrong, or there is nothing to go by.
        InvalidObjectError: the file is no export.
        LedgerError: the ledger cannot be read.
        OSError: a file cannot be read.
    """
    with ExitStack() as stack:
        trust = _trust(options, stack, settings)
        progress = Progress("verified")
        if export is not None:
            return verdict_of(verify_export(export, trust, progress.tell))
        if settings is None:
            raise SettingsError("name an export, or a ledger")
        return verdict_of(asyncio.run(_verify_ledger(settings, options, trust, progress)))


def check_proof(path: Path, options: VerifyOptions) -> CheckedProof:
    """Check a proof.

    Raises:
        SettingsError: there is nothing to go by.
        InvalidObjectError: the file holds none.
        OSError: a file cannot be read.
    """
    with ExitStack() as stack:
        trust = _trust(options, stack)
        try:
            with path.open("rb") as file:
                proof = decode_proof(file.read(_MOST_PROOF))
            keys = LogKeys(trust.keys, map(public_key, proof.keys))
            size = heads_of(proof)[-1].size
            anchored = [
                line.head
                for reading in trust.anchors
                for line in reading
                if line.head is not None and line.head.size == size
                if reading.vouches or (keys.has_given and not keys.judge(line.head))
            ]
            said = find_fault(proof, keys, anchored if trust.anchors else None)
        except ValueError as error:
            raise InvalidObjectError(str(path), "", str(error)) from None
    said += [each.says for reading in trust.anchors for each in reading.problems]
    return CheckedProof(sound=not said, proof=proof, problems=said, anchored=bool(trust.anchors))


def exit_code(*, sound: bool) -> int:
    """Return the exit code."""
    return exits.ADMITTED if sound else exits.REFUSED


async def _verify_ledger(
    settings: Settings, options: VerifyOptions, trust: VerifierTrust, progress: Progress
) -> Verifier:
    now_ms = int(time.time() * 1000)
    async with AsyncExitStack() as stack:
        password = ledger_password(settings, stack)
        ledger = VerifiableLedger(ledger_url(settings), password=password)
        stack.push_async_callback(ledger.close)
        await ledger.open(make=False)
        told = trusted_keys_of(settings, options.keys)
        opening = await make_opening(ledger, told, *options.times(now_ms), now_ms)
        return await verify_ledger(ledger, opening, trust, progress.tell)


def _trust(
    options: VerifyOptions, stack: ExitStack, settings: Settings | None = None
) -> VerifierTrust:
    """Open anchors, and read keys.

    Raises:
        SettingsError: there is neither, so anybody could have written what is verified; or nothing
            but timestamps, which anybody can get.
        InvalidObjectError: a file is no checkpoint that a witness cosigned.
    """
    given = (options.anchors, options.heads, options.keys, options.cosigned, options.timestamps)
    if not any(given):
        raise SettingsError(
            "give --anchor FILE, --head SIZE:ROOT, --cosigned FILE or --key PEM (and --timestamps "
            "FILE): without any of them whoever wrote the ledger could have written it anew"
        )
    readings = [AnchorReading(str(path), _lines(path, stack)) for path in options.anchors]
    noted = [NotedHeads(list(map(_noted, options.heads)))] if options.heads else []
    timestamped, keys = _timestamped(options), read_trusted_keys(options.keys)
    if not (keys or options.anchors or options.heads or options.cosigned):
        keys = [_own_key(settings)]
    now_ms = int(time.time() * 1000)
    return VerifierTrust(
        [*readings, *noted, *_cosigned(options), *timestamped],
        keys,
        options.terms(now_ms),
    )


def _own_key(settings: Settings | None) -> Ed25519PublicKey:
    """Return the ledger's own key, by which timestamps alone are judged.

    Raises:
        SettingsError: there are no settings, or the key is not here.
    """
    why = "no ledger is named"
    try:
        if settings is not None:
            return public_key(public_of(settings).raw)
    except LedgerError as error:
        why = str(error)
    raise SettingsError(
        "--timestamps: an authority timestamps what anybody sends it: give --key PEM as well (as "
        "`sallyport ledger key` prints it), or --anchor FILE, --head SIZE:ROOT or --cosigned FILE "
        f"({why})"
    )


def _cosigned(options: VerifyOptions) -> list[CosignedHeads]:
    if bool(options.cosigned) != bool(options.witness_keys):
        raise SettingsError(
            "--cosigned and --witness-key: give both: checkpoints, and the keys of the witnesses "
            "whom you believe"
        )
    keys = list(map(_witness_key, options.witness_keys))
    notes = []
    for path in options.cosigned:
        with path.open("rb") as file:
            content = file.read(MOST_NOTE + 1)
        try:
            note = parse_note(content)
            read_cosigned([note], keys)
        except NoteError as error:
            raise InvalidObjectError(str(path), "", str(error)) from None
        notes.append(note)
    return read_cosigned(notes, keys)


def _timestamped(options: VerifyOptions) -> list[TimestampedHeads]:
    if bool(options.timestamps) != (options.tsa_ca is not None):
        raise SettingsError(
            "--timestamps and --tsa-ca: give both: timestamps, and the CA of whoever made them"
        )
    if options.tsa_ca is None:
        return []
    try:
        trust = read_trust(options.tsa_ca.read_bytes())
    except ValueError as error:
        message = f"--tsa-ca {options.tsa_ca}: give certificates in PEM ({error})"
        raise SettingsError(message) from None
    return [TimestampedHeads(_read_timestamps(path, trust)) for path in options.timestamps]


def _read_timestamps(path: Path, trust: TimestampTrust) -> list[tuple[TreeHead, int]]:
    try:
        with path.open("rb") as file:
            return list(read_timestamps(iter(partial(file.readline, MOST_LINE), b""), trust))
    except TimestampError as error:
        raise InvalidObjectError(str(path), "", str(error)) from None


def _witness_key(text: str) -> VerifierKey:
    try:
        key = parse_verifier_key(text)
    except NoteError as error:
        raise SettingsError(f"--witness-key {text}: {error}") from None
    if key.kind is not SignatureType.COSIGNATURE:
        raise SettingsError(f"--witness-key {text}: it is a log's key (type 1), and no witness's")
    return key


def _lines(path: Path, stack: ExitStack) -> Iterator[bytes]:
    """Return the lines of an anchor.

    Of a folder those of its files, in the order of their names.
    """
    files: Sequence[Path] = sorted(path.iterdir()) if path.is_dir() else [path]
    opened = [stack.enter_context(each.open("rb")) for each in files]
    return (line for file in opened for line in file)


def _noted(text: str) -> tuple[int, str]:
    size, _, root = text.partition(":")
    is_root = len(root) == _ROOT_DIGITS and not root.strip("0123456789abcdef")
    if not (size.isdecimal() and size.isascii() and is_root):
        raise SettingsError(f"--head {text}: give SIZE:ROOT, as `sallyport ledger heads` prints it")
    return int(size), root
