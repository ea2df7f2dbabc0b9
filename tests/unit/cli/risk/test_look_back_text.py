"""`sallyport risk look-back` says what was read of the weights, beside what is left."""

import io

import msgspec
from rich.console import Console

from cli.risk.look_back_render import print_look_backs
from core.risk.look_back import LookBackDocument, StoreReads


def said(*reads: StoreReads) -> str:
    """Return what is printed of a document with these reads and nothing else, in one line."""
    document = LookBackDocument(
        format=1,
        id="01a1fdfa-4600-741a-844b-d5e85b7c5f0f",
        cluster="c1",
        subject="oid:11111111-2222-4333-8444-555555555501",
        begin="2026-11-19T11:00:00Z",
        end="2026-11-21T12:00:00Z",
        reads=list(reads),
    )
    assert document.is_empty == (not reads)
    console = Console(file=io.StringIO(), width=80)
    print_look_backs([document], console)
    assert isinstance(console.file, io.StringIO)
    return " ".join(console.file.getvalue().split())


def read(**fields: int) -> StoreReads:
    """Return nine reads of a store."""
    found = StoreReads(
        store="llama",
        reads=9,
        bytes=20 * 1024**3,
        first="2026-11-20T01:00:00.000Z",
        last="2026-11-20T02:00:00.000Z",
    )
    return msgspec.structs.replace(found, **fields)


def test_each_store_has_a_line() -> None:
    """How often, how much, when; and nothing of doubts where there are none."""
    assert (
        "Read weights of llama: 9 reads, 20.0 GiB, from 2026-11-20T01:00:00.000Z to "
        "2026-11-20T02:00:00.000Z. Nothing that it started"
    ) in said(read())


def test_what_makes_a_read_worth_a_look_is_said() -> None:
    """Without a grant; by Pods of theirs; perhaps by another's Pod."""
    assert (
        "02:00:00.000Z, 1 without a live grant, 4 by Pods that it asked for, 2 of which may have "
        "been another's Pod."
    ) in said(read(ungranted=1, by_pods=4, unsure=2))


def test_without_reads_nothing_is_said_of_weights() -> None:
    """Most identities never read any."""
    assert "weights" not in said()
