"""`sallyport ledger`: what proves that the ledger is what was recorded."""

from pathlib import Path
from typing import Annotated, Optional

import typer

from cli.flags import ConfigFlag, LedgerFlag, OutputFlag, read_flags
from cli.output import Format, make_console, print_json
from cli.session import log_to_stderr, run_async
from core.base.errors import SettingsError

LEDGER = """**Examples**

    sallyport ledger verify export.jsonl.gz --anchor anchor.jsonl

    sallyport ledger export -o export.jsonl.gz

    sallyport ledger verify --help

**Exit codes**: 0 all is well; 1 something was tampered with; 2 it cannot be
told; 64 wrong usage. Each command's --help says more."""

VERIFY = """**Examples**

    sallyport ledger verify export.jsonl.gz --anchor anchor.jsonl

    sallyport ledger verify export.jsonl --head 512:9f86d081… --key key.pem

    sallyport ledger verify --ledger sqlite:///ledger.db --anchor anchor.jsonl

    sallyport ledger verify --proof proof.json --anchor anchor.jsonl -o json

    sallyport ledger verify export.jsonl --cosigned note --witness-key VKEY

    sallyport ledger verify --timestamps t.jsonl --tsa-ca ca.pem --key key.pem

An export is verified with nothing but this program; without one it is the
ledger of --ledger or ledger.url, whose rows are compared with the log too.
An anchor (a file, or a folder of its parts) must lie where whoever can write
the ledger cannot write. What is younger than it is counted, and not proven. A
checkpoint that a witness cosigned, as it serves it, is as good as an anchor.
Timestamps say when heads were there, and not whose they are: with them give a
key or an anchor.

**Exit codes**: 0 nothing is wrong; 1 something is: the first bad record is
named; 2 it cannot be read; 64 wrong usage, or no such file."""

EXPORT = """**Examples**

    sallyport ledger export -o export.jsonl.gz

    sallyport ledger export --since 7d -o week.jsonl

    sallyport ledger export --since 2026-11-01T00:00:00Z -o november.jsonl.gz

All that was stored between --since and --until is in it, from one head to
another. Whoever verifies it names the same times. `.gz` packs it. The
records hold no secrets, but who did what: the file is yours alone.

**Exit codes**: 0 written; 2 the ledger does not answer, or the disk is full;
64 wrong usage."""

PROVE = """**Examples**

    sallyport ledger prove 01a1fe42-0ac4-7b5f-946c-9f0144aa65d3 > proof.json

    sallyport ledger prove --from 512 --to 1024 > proof.json

    sallyport ledger verify --proof proof.json --anchor anchor.jsonl

A proof holds the record, the signed head and the path between them (RFC
9162). With --from and --to: that one head continues the other.

**Exit codes**: 0 written; 2 there is no such record or head, or the ledger
does not answer; 64 wrong usage."""

HEADS = """**Examples**

    sallyport ledger heads

    sallyport ledger heads --limit 100 -o json

Note the last one elsewhere: `ledger verify --head SIZE:ROOT` demands it, also
when the anchor itself was cut short.

**Exit codes**: 0 listed; 2 the ledger does not answer; 64 wrong usage."""

KEY = """**Examples**

    sallyport ledger key > key.pem

    sallyport ledger key --config auditor.yaml -o json

It is the public half of ledger.signing_key, for `ledger verify --key`.

**Exit codes**: 0 printed; 2 the key cannot be read; 64 wrong usage."""

CHECKPOINT = """**Examples**

    sallyport ledger checkpoint

    sallyport ledger checkpoint --size 512

    sallyport ledger checkpoint --old 512 > request

    sallyport ledger checkpoint --vkey

A checkpoint is a head as other programs read it (c2sp.org/tlog-checkpoint),
signed with the ledger's key. With --old it is the request to a witness that has
cosigned that size (0: none yet), with the proof. --vkey is the key by which a
witness knows the log.

**Exit codes**: 0 printed; 2 there is no such head or key, or the ledger does
not answer; 64 wrong usage."""

WITNESS = """**Examples**

    sallyport ledger witness --name witness.example/w1 --key witness.pem --vkey

    sallyport ledger witness request --log VKEY --name N --key w.pem --state seen/

    sallyport ledger checkpoint --old 512 | ssh witness sallyport ledger witness - …

    sallyport ledger witness --listen 0.0.0.0:8444 --cert tls.crt --tls-key t.key …

Run it on a host that the ledger's people cannot change. It cosigns a checkpoint
only if that continues the last one it cosigned of the log: then two logs cannot
be shown to two readers. What it saw is in --state, a file for each log; keep it
on a mirrored disk: an older copy would cosign a fork. If a file is damaged or
gone, nothing is cosigned. With --listen it serves
c2sp.org/tlog-witness: POST /add-checkpoint, GET /ORIGIN-SHA-256/checkpoint.

**Exit codes**: 0 cosigned, the line is printed; 1 not cosigned: another size,
a fork, a wrong signature or proof; 2 the state cannot be read or kept; 64 wrong
usage."""


app = typer.Typer(
    help="Prove that the ledger is what was recorded.", no_args_is_help=True, epilog=LEDGER
)

KeyFlag = Annotated[
    Optional[list[Path]],  # noqa: UP045 (typer)
    typer.Option("--key", metavar="PEM", help="A public key that signs it; may be repeated."),
]
SinceFlag = Annotated[
    str | None, typer.Option(help="Stored not before: 15m, 2h, 3d ago, or a time (RFC 3339).")
]
UntilFlag = Annotated[str | None, typer.Option(help="Stored before, as --since.")]


@app.callback()
def ledger() -> None:
    """Prove that the ledger is what was recorded."""
    log_to_stderr()


@app.command(epilog=VERIFY)
def verify(  # noqa: PLR0913, PLR0917 (one parameter a flag)
    export: Annotated[
        Path | None, typer.Argument(metavar="EXPORT", help="An export; else the ledger itself.")
    ] = None,
    anchor: Annotated[
        Optional[list[Path]],  # noqa: UP045 (typer)
        typer.Option(metavar="FILE", help="What an anchor keeps; may be repeated."),
    ] = None,
    head: Annotated[
        Optional[list[str]],  # noqa: UP045 (typer)
        typer.Option(metavar="SIZE:ROOT", help="A head that you noted; may be repeated."),
    ] = None,
    key: KeyFlag = None,
    proof: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Verify a proof instead.")
    ] = None,
    cosigned: Annotated[
        Optional[list[Path]],  # noqa: UP045 (typer)
        typer.Option(metavar="FILE", help="A checkpoint that a witness cosigned; repeatable."),
    ] = None,
    timestamps: Annotated[
        Optional[list[Path]],  # noqa: UP045 (typer)
        typer.Option(metavar="FILE", help="Timestamps of heads (RFC 3161); repeatable."),
    ] = None,
    tsa_ca: Annotated[
        Path | None, typer.Option(metavar="PEM", help="The CA of whoever made them.")
    ] = None,
    witness_key: Annotated[
        Optional[list[str]],  # noqa: UP045 (typer)
        typer.Option(metavar="VKEY", help="The key of a witness whom you believe; repeatable."),
    ] = None,
    since: SinceFlag = None,
    until: UntilFlag = None,
    keep_days: Annotated[
        int, typer.Option(min=1, max=3650, help="Days that nothing may be removed within.")
    ] = 90,
    late_days: Annotated[
        float, typer.Option(min=0, max=3650, help="Days that a spool may have been away.")
    ] = 3,
    ledger: LedgerFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Find any change, removal, reorder or back-dating, and name the first bad record."""
    from cli.ledger.render import print_proof, print_verdict  # noqa: PLC0415
    from cli.shared import ledger_verification as verifying  # noqa: PLC0415 (keeps --help quick)

    options = verifying.VerifyOptions(
        tuple(anchor or ()),
        tuple(head or ()),
        tuple(key or ()),
        since,
        until,
        keep_days,
        late_days,
        tuple(cosigned or ()),
        tuple(witness_key or ()),
        tuple(timestamps or ()),
        tsa_ca,
    )
    if proof is not None:
        checked = verifying.check_proof(proof, options)
        print_json(checked) if output is Format.JSON else print_proof(checked, make_console())
        raise typer.Exit(verifying.exit_code(sound=checked.sound))
    settings = None if export else read_flags(config, ledger=ledger)
    verdict = verifying.verify(export, settings, options)
    print_json(verdict) if output is Format.JSON else print_verdict(verdict, make_console())
    raise typer.Exit(verifying.exit_code(sound=verdict.sound))


@app.command(epilog=EXPORT)
def export(  # noqa: PLR0913, PLR0917 (one parameter a flag)
    file: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where to.")],
    since: SinceFlag = None,
    until: UntilFlag = None,
    key: KeyFlag = None,
    ledger: LedgerFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Write the log with all its records into one file that can be verified without the ledger."""
    from cli.ledger.export import export_ledger  # noqa: PLC0415 (keeps --help quick)

    settings = read_flags(config, ledger=ledger)
    export_ledger(settings, file, tuple(key or ()), since, until)


@app.command(epilog=PROVE)
def prove(  # noqa: PLR0913, PLR0917 (one parameter a flag)
    identity: Annotated[
        str | None, typer.Argument(metavar="ID", help="The id of any record.")
    ] = None,
    first: Annotated[
        int | None, typer.Option("--from", min=0, help="The size of the earlier head.")
    ] = None,
    second: Annotated[
        int | None, typer.Option("--to", min=0, help="The size of the later head; else the last.")
    ] = None,
    key: KeyFlag = None,
    ledger: LedgerFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Prove that a record is in the log, or that one head continues another, as JSON."""
    from cli.ledger.proof import make_proof  # noqa: PLC0415 (keeps --help quick)

    settings = read_flags(config, ledger=ledger)
    print_json(run_async(make_proof(settings, identity, (first, second), tuple(key or ()))))


@app.command(epilog=HEADS)
def heads(
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most so many.")] = 10,
    ledger: LedgerFlag = None,
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """List the last signed heads of the log."""
    from cli.ledger.proof import last_heads  # noqa: PLC0415 (keeps --help quick)
    from cli.ledger.render import print_heads  # noqa: PLC0415

    settings = read_flags(config, ledger=ledger)
    found = run_async(last_heads(settings, limit))
    if output is Format.JSON:
        print_json(found)
    else:
        print_heads(found, make_console())


@app.command(epilog=KEY)
def key(
    config: ConfigFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Print the public key that the ledger's heads are signed with."""
    from cli.shared.ledger_keys import public_of  # noqa: PLC0415 (keeps --help quick)

    found = public_of(read_flags(config))
    if output is Format.JSON:
        print_json(found)
    else:
        typer.echo(found.pem, nl=False)


@app.command(epilog=CHECKPOINT)
def checkpoint(
    size: Annotated[
        int | None, typer.Option(min=0, help="Of the head of this size; else of the last.")
    ] = None,
    old: Annotated[
        int | None, typer.Option(min=0, help="As a request to a witness that cosigned this size.")
    ] = None,
    vkey: Annotated[  # noqa: FBT002  typer's flags.
        bool, typer.Option("--vkey", help="Print the log's key for witnesses instead.")
    ] = False,
    ledger: LedgerFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Print a head as a signed checkpoint (C2SP), or the request to a witness."""
    from cli.ledger.checkpoint import find_verifier_key, make_checkpoint  # noqa: PLC0415 (keeps --help quick)

    settings = read_flags(config, ledger=ledger)
    if vkey:
        typer.echo(run_async(find_verifier_key(settings)))
    else:
        typer.echo(run_async(make_checkpoint(settings, size, old)), nl=False)


@app.command(epilog=WITNESS)
def witness(  # noqa: PLR0913, PLR0917 (one parameter a flag)
    name: Annotated[str, typer.Option(metavar="NAME", help="Of the witness: HOST/PATH.")],
    key: Annotated[Path, typer.Option(metavar="PEM", help="Its private key (Ed25519).")],
    request: Annotated[
        Path | None, typer.Argument(metavar="REQUEST", help="A request; `-` is standard input.")
    ] = None,
    log: Annotated[
        Optional[list[str]],  # noqa: UP045 (typer)
        typer.Option(metavar="VKEY", help="The key of a log that it knows; may be repeated."),
    ] = None,
    state: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keeps what was cosigned last of each log.")
    ] = None,
    listen: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Serve instead, until stopped.")
    ] = None,
    cert: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Serving certificate (PEM).")
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Its private key (PEM).")
    ] = None,
    vkey: Annotated[  # noqa: FBT002  typer's flags.
        bool, typer.Option("--vkey", help="Print the witness's public key instead.")
    ] = False,
) -> None:
    """Cosign a ledger's checkpoint if it continues the last one that was cosigned."""
    from cli.ledger import witness as witnesses  # noqa: PLC0415 (keeps --help quick)

    options = witnesses.WitnessOptions(name, key, state, tuple(log or ()), listen, cert, tls_key)
    if sum((request is not None, listen is not None, vkey)) != 1:
        raise SettingsError("give one of REQUEST, --listen and --vkey")
    if vkey:
        typer.echo(witnesses.find_identity(options).verifier.text)
    elif request is not None:
        raise typer.Exit(witnesses.witness_file(options, request))
    else:
        witnesses.witness_server(options)
