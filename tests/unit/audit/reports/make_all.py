"""Prints the digest of each form of the report of a ledger: a process of its own for a test."""

import asyncio
import hashlib
import sys

from audit.ledger.store.store import Store
from cli.report.forms import FORMS
from tests.unit.audit.reports.records import read


async def digests(path: str) -> str:
    """Return them, a line each."""
    ledger = Store(f"sqlite:///{path}", keep_days=3650)
    await ledger.open(make=False)
    report = await read(ledger)
    await ledger.close()
    made = {name: hashlib.sha256(form.make(report)).hexdigest() for name, form in FORMS.items()}
    return "".join(f"{name} {digest}\n" for name, digest in made.items())


if __name__ == "__main__":
    sys.stdout.write(asyncio.run(digests(sys.argv[1])))
