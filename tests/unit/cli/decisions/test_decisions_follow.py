"""`sallyport decisions --follow`: what comes, as it comes, until Ctrl-C."""

import asyncio
import json
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from audit.ledger.store.store import Store
from core.decision.decision import Verdict
from core.decision.document import DecisionDocument
from tests.unit.audit.ledger.store.documents import CLUSTER, document, frame

PROGRAM = Path(sys.executable).parent / "sallyport"
PATIENCE_S = 60


@asynccontextmanager
async def following(url: str, *flags: str) -> AsyncIterator[Process]:
    """Run the command in a process of its own, and end it."""
    process = await asyncio.create_subprocess_exec(
        PROGRAM, "decisions", "--follow", "--ledger", url, *flags, stdout=PIPE, stderr=PIPE
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def lines(process: Process, count: int) -> list[str]:
    """Return the next lines of what it prints."""
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE_S):
        return [(await process.stdout.readline()).decode() for _ in range(count)]


def made(ago_s: float, verdict: Verdict = Verdict.DENY) -> DecisionDocument:
    """Return a decision of a few seconds ago."""
    decision: DecisionDocument = document(int((time.time() - ago_s) * 1000), verdict)
    return decision


async def test_what_comes_is_printed_once_and_in_order(tmp_path: Path) -> None:
    """First the last ones, the oldest first; then what is new, also where it comes late."""
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    async with Store(url) as store:
        old = [made(ago) for ago in (9, 8, 7, 6)]
        await store.deliver(CLUSTER, list(map(frame, old)))
        async with following(url, "-o", "json", "--limit", "2", "--verdict", "deny") as process:
            first = [json.loads(line)["id"] for line in await lines(process, 2)]
            assert first == [each.id for each in old[2:]]
            new = [made(1), made(0, Verdict.ALLOW), made(0)]
            await store.deliver(CLUSTER, list(map(frame, new)))
            assert [json.loads(line)["id"] for line in await lines(process, 2)] == [
                new[0].id,
                new[2].id,
            ]
            late = made(3)
            await store.deliver(CLUSTER, list(map(frame, [*new, late])))
            assert [json.loads(line)["id"] for line in await lines(process, 1)] == [late.id]
            process.send_signal(signal.SIGINT)
            async with asyncio.timeout(PATIENCE_S):
                out, err = await process.communicate()
            assert (process.returncode, out) == (130, b"")
            assert err == b""


async def test_table_has_one_head(tmp_path: Path) -> None:
    """And no line where nothing is new."""
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    async with Store(url) as store, following(url) as process:
        await store.deliver(CLUSTER, [frame(made(0))])
        head, first = await lines(process, 2)
        assert (head.split()[0], first.split()[1]) == ("TIME", "refused")
        await store.deliver(CLUSTER, [frame(made(0, Verdict.ALLOW))])
        assert (await lines(process, 1))[0].split()[1] == "allowed"


async def test_ids_ahead_and_alike_hide_nothing(tmp_path: Path) -> None:
    """A gate whose clock is ahead blinds nobody; an id of two clusters is two decisions."""
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    async with Store(url) as store, following(url, "-o", "json") as process:
        ahead = made(-3600)
        await store.deliver(CLUSTER, [frame(ahead)])
        assert json.loads((await lines(process, 1))[0])["id"] == ahead.id
        now = made(0)
        await store.deliver(CLUSTER, [frame(now)])
        assert json.loads((await lines(process, 1))[0])["id"] == now.id
        await store.deliver("other", [frame(msgspec.structs.replace(now, cluster="other"))])
        shown = json.loads((await lines(process, 1))[0])
        assert (shown["id"], shown["cluster"]) == (now.id, "other")


async def test_table_names_clusters_once_there_are_several(tmp_path: Path) -> None:
    """The head comes again with the new column."""
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    async with Store(url) as store, following(url) as process:
        await store.deliver(CLUSTER, [frame(made(0))])
        assert "CLUSTER" not in (await lines(process, 2))[0]
        await store.deliver("other", [frame(msgspec.structs.replace(made(0), cluster="other"))])
        head, row = await lines(process, 2)
        assert (head.split()[3], row.split()[3]) == ("CLUSTER", "other")
