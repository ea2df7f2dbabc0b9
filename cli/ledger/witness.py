"""`sallyport ledger witness`: cosigns checkpoints, one of a file or all that come over HTTPS."""

import sys
from dataclasses import dataclass
from pathlib import Path

from audit.ledger.log.keys import read_key
from audit.ledger.log.signed_notes import (
    NoteError,
    NoteSignature,
    SignatureType,
    VerifierKey,
    parse_verifier_key,
)
from audit.ledger.witness.state import WitnessState
from audit.ledger.witness.submissions import MOST_BODY
from audit.ledger.witness.witness import Witness, WitnessIdentity
from cli import exits
from cli.output import STANDARD_INPUT
from core.base.errors import SettingsError
from core.base.safe_text import safe_line

_MOST_PORT = 65535


@dataclass(frozen=True)
class WitnessOptions:
    """What was typed."""

    name: str
    key: Path
    state: Path | None
    logs: tuple[str, ...]
    listen: str | None = None
    cert: Path | None = None
    tls_key: Path | None = None


def find_identity(options: WitnessOptions) -> WitnessIdentity:
    """Return who signs.

    Raises:
        SettingsError: the name is none, or there is no such file.
        LedgerError: the key cannot be read.
    """
    key = read_key(options.key, "--key")
    if key is None:
        raise SettingsError(
            f"--key {options.key}: there is no such file; make one: `openssl genpkey -algorithm "
            f"ed25519 -out {options.key}`"
        )
    identity = WitnessIdentity(options.name, key)
    try:
        identity.verifier  # noqa: B018  It judges the name.
    except NoteError as error:
        raise SettingsError(f"--name {error}") from None
    return identity


def witness_file(options: WitnessOptions, request: Path) -> int:
    """Cosign the checkpoint of a request, and print the cosignature; give the exit code.

    Raises:
        SettingsError: something that was typed is wrong.
        LedgerError: what was seen before cannot be read, or this cannot be kept.
    """
    answer = _open_witness(options).add_checkpoint(_read(request))
    if isinstance(answer, NoteSignature):
        sys.stdout.write(answer.line)
        return exits.ADMITTED
    text = answer.text
    if answer.fork:
        text = answer.fork
    elif answer.status == 409:  # noqa: PLR2004  Conflict.
        text = f"the last checkpoint that was cosigned is of {text} entries: make it with --old"
        text += f" {answer.text}"
    sys.stderr.write(safe_line(f"Not cosigned ({int(answer.status)}): {text}") + "\n")
    return exits.REFUSED


def witness_server(options: WitnessOptions) -> None:
    """Serve until told to stop. Exits the process.

    Raises:
        SettingsError: something that was typed is wrong.
        CannotBindError: the address is taken.
    """
    from app.processes.witness.process import WitnessAddress, serve_witness  # noqa: PLC0415  Few serve.

    host, _, port = (options.listen or "").rpartition(":")
    if not (host and port.isdecimal() and port.isascii() and int(port) <= _MOST_PORT):
        raise SettingsError(f"--listen {options.listen}: give HOST:PORT")
    if options.cert is None or options.tls_key is None:
        raise SettingsError("--listen: give its certificate too: --cert FILE --tls-key FILE")
    address = WitnessAddress(host.strip("[]"), int(port), options.cert, options.tls_key)
    serve_witness(_open_witness(options), address)


def _open_witness(options: WitnessOptions) -> Witness:
    if options.state is None:
        raise SettingsError("--state: name the folder that keeps what was seen")
    if not options.state.is_dir():
        raise SettingsError(f"--state {options.state}: there is no such folder; make it once")
    if not options.logs:
        raise SettingsError("--log: name a log, as `sallyport ledger checkpoint --vkey` prints it")
    logs: dict[str, list[VerifierKey]] = {}
    for text in options.logs:
        try:
            key = parse_verifier_key(text)
        except NoteError as error:
            raise SettingsError(f"--log {text}: {error}") from None
        if key.kind is not SignatureType.NOTE:
            raise SettingsError(f"--log {text}: it is a witness's key (type 4), and no log's")
        logs.setdefault(key.name, []).append(key)
    return Witness(find_identity(options), logs, WitnessState(options.state))


def _read(request: Path) -> bytes:
    if str(request) == STANDARD_INPUT:
        return sys.stdin.buffer.read(MOST_BODY + 1)
    with request.open("rb") as file:
        return file.read(MOST_BODY + 1)
