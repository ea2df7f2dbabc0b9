"""`sallyport sign-off`: says that a report was read, and shows who has said so."""

from pathlib import Path
from typing import Final

import msgspec
from rich.console import Console
from rich.text import Text

from app.settings.root import Settings
from audit.access.progress import first_of_each, label_of
from audit.reports.builder import digest_of
from audit.reports.model import Report
from cli.shared.audit_statements import (
    build_statement,
    make_statement,
    open_cluster,
    read_sign_offs,
)
from core.base import names
from core.base.errors import SettingsError
from core.base.safe_text import safe_line, safe_text
from core.base.sallyport_objects import DIGEST
from core.people.two_person import PEOPLE_NEEDED, Person, read_person
from core.weights.audit_statements import AuditStatement

FORMAT: Final = 1
"""Of `-o json`."""


class Signature(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One person's word that they have read a report."""

    by: str
    time: str
    note: str


class SignedReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`sallyport sign-off -o json`."""

    format: int
    report: str
    """Its digest."""
    signatures: list[Signature]
    """One of each person, the first first."""
    signed_off: bool
    """Whether two people have signed."""
    message: str = ""
    """Why the gate refused this one; empty where it did not."""


async def sign_report(settings: Settings, report: str, note: str, *, show: bool) -> SignedReport:
    """Sign a report off, unless it is only to be shown who has.

    Raises:
        SettingsError: it is neither a digest nor a report, or no cluster is named.
        ClusterError: kube-apiserver does not answer.
    """
    digest = read_digest(report)
    refused = ""
    async with open_cluster(settings) as objects:
        if not show:
            spec = {"report": digest} | ({"note": note} if note else {})
            refused = (await make_statement(objects, build_statement("report", spec))).refused
        found = await read_sign_offs(objects, digest)
    found.sort(key=lambda one: (one.meta.creation_timestamp or "", one.meta.name))
    people = [_signer(one) for one in found]
    signatures = [
        Signature(
            by=label_of(people[at]),
            time=found[at].meta.creation_timestamp or "",
            note=found[at].spec.note or "",
        )
        for at in first_of_each(people)
    ]
    return SignedReport(
        format=FORMAT,
        report=digest,
        signatures=signatures,
        signed_off=len(signatures) >= PEOPLE_NEEDED,
        message=refused,
    )


def _signer(statement: AuditStatement) -> Person:
    """Return the marks of who made a statement; ids are compared without case."""
    return read_person(statement.meta.annotation(names.AUTHOR_ANNOTATION).lower())


def read_digest(report: str) -> str:
    """Return the digest that was typed, or that of a report's JSON, which must say the same.

    Raises:
        SettingsError: it is neither, or the file says another digest than it has.
    """
    if DIGEST.fullmatch(report):
        return report
    file = Path(report)
    if not file.is_file():
        raise SettingsError(f"{report}: give a report's JSON file, or its digest (sha256:…)")
    try:
        read = msgspec.json.decode(file.read_bytes(), type=Report)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"{report}: it is no report's JSON of this release ({error}); make one with "
            "`sallyport report --format json`, or give the digest"
        ) from None
    if digest_of(read) != read.digest:
        raise SettingsError(
            f"{report}: it was changed after it was made: its digest is not {read.digest}"
        )
    return read.digest


def print_signers(made: SignedReport, console: Console) -> None:
    """Say for a person who has signed a report off."""
    if made.message:
        console.print(Text(safe_text(made.message)))
    for one in made.signatures:
        note = f"  “{one.note}”" if one.note else ""
        console.print(Text(safe_line(f"{one.time}  {one.by}{note}")))
    state = "signed off" if made.signed_off else "not signed off yet: two people must sign"
    console.print(Text(f"{made.report}: {state}"))
