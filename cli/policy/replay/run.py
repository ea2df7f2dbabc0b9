"""`sallyport policy replay`: what another bundle would have said of what was asked for."""

import asyncio
import os
import sys
import time
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from concurrent.futures import Executor
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from admission.replay.evaluation import BundleAnswer
from admission.replay.outcomes import Effect, ReplayBase, ReplayEnd, UnknownReason, replay_decision
from app.records.ledger import open_ledger
from app.settings.root import Settings
from app.wiring import load_embedded, open_cluster
from audit.ledger.store.decisions import MOST_ROWS, DecisionQuery
from audit.ledger.store.store import Store
from cli import exits
from cli.policy.replay.base import ComparisonBase, open_base
from cli.policy.replay.counts import FORMAT, Of, Replayed, Tallies
from cli.policy.replay.workers import (
    ComparedBundles,
    RecordedInput,
    ask_both,
    decode_said,
    open_pool,
)
from cli.shared.cluster_answers import require_answers
from cli.shared.decision_queries import read_since
from cli.shared.judge import CLUSTER_WAIT_S
from core.base.errors import SettingsError
from core.base.times import milli_text
from core.decision.decision import Verdict
from core.decision.document import DecisionDocument, decode_document
from core.profiles.container_profiles import ProfileSet
from policies import BUILT_IN_BUNDLE, SHIPPED_PROFILES
from policies.bundle.format import read_bundle
from policies.site.fields import kind_name

_PAGE: Final = 2000
_CHUNK: Final = 50
"""Inputs that a process is given at once."""

_AHEAD: Final = 2
"""Pages that are read while one is judged."""

_TELL_EVERY_S: Final = 2.0
_JUDGED: Final = frozenset({"CREATE", "UPDATE"})
_NOT_KEPT: Final = "what policies saw is not in the ledger: too large to keep, or removed since"
_FIELDS: Final = "it reads what was not recorded: put the bundle in force with the rule as warn, \
and fields are kept from then on"
_OLDER: Final = "recorded by an earlier release, which did not keep all that the rule sees"


def verdict_of(found: Replayed) -> str:
    """Return the line."""
    seen = f"{found.compared:,} of {found.reviews:,} reviews compared"
    refused, failed = found.of(Effect.NEWLY_REFUSED), found.of(Effect.FAILED)
    others = [
        f"{found.of(effect):,} {word}"
        for effect, word in (
            (Effect.NEWLY_ADMITTED, "newly admitted"),
            (Effect.NEWLY_WARNED, "newly warned of"),
            (Effect.NEWLY_SANDBOXED, "newly sandboxed"),
        )
        if found.of(effect)
    ]
    rest = f"; {', '.join(others)}" if others else ""
    if failed:
        return f"Do not promote it: its policies fail on {failed:,} ({seen}{rest})."
    if refused:
        return f"Do not promote it yet: {refused:,} would newly be refused ({seen}{rest})."
    if not found.compared:
        return f"Nothing can be said: {seen}."
    if not found.whole:
        left = sum(each.reviews for each in found.left if each.failure) + found.not_reproduced
        return (
            f"Nothing would newly be refused of what was seen ({seen}{rest}), but {left:,} answers "
            "are missing: see above before you promote it."
        )
    return f"Promote it: nothing would newly be refused ({seen}{rest})."


@dataclass(frozen=True)
class ReplayRequest:
    """What a person asked for."""

    candidate: Path
    base: Path | None = None
    """None: the bundle in force, as far as it is known."""
    since: str = "7d"
    until: str | None = None
    namespace: str | None = None
    jobs: int = 0
    """Processes; 0 for one a core."""


async def replay(settings: Settings, asked: ReplayRequest) -> Replayed:
    """Judge what was recorded with both bundles, and say in what they differ.

    Raises:
        BundleRefusedError: a bundle cannot be put in force, or calls what only an OPA server has.
        ClusterError: the cluster does not say which bundle is in force.
        LedgerError: there is no ledger, or it cannot be read.
        NotSyncedError: the cluster does not answer.
        SettingsError: a time is none, or there is nothing to replay.
    """
    now_ms = int(time.time() * 1000)
    since_ms = read_since(asked.since, now_ms)
    until_ms = read_since(asked.until, now_ms, "--until") if asked.until else now_ms
    if since_ms >= until_ms:
        raise SettingsError("--since is not before --until")
    candidate = _revision(asked.candidate, settings)  # Refused before anything is read.
    async with open_base(settings, asked.base) as base:
        revisions = _revision(base.path or BUILT_IN_BUNDLE, settings), candidate
        return await _replayed(settings, asked, base, revisions, (since_ms, until_ms))


def _revision(path: Path, settings: Settings) -> str:
    bundle = read_bundle(path)
    load_embedded(bundle, settings.evaluation).close()
    return bundle.revision


async def _replayed(
    settings: Settings,
    asked: ReplayRequest,
    base: ComparisonBase,
    revisions: tuple[str, str],
    times: tuple[int, int],
) -> Replayed:
    since_ms, until_ms = times
    replay_base = ReplayBase(await _profiles(settings), revisions[0])
    bundles = ComparedBundles(
        base.path, asked.candidate, settings.evaluation, settings.sandbox.points
    )
    query = DecisionQuery(namespace=asked.namespace, since_ms=since_ms, until_ms=until_ms)
    async with open_ledger(settings) as store:
        jobs = asked.jobs or len(os.sched_getaffinity(0))
        with open_pool(bundles, jobs) as pool:
            run = _Run(store, pool, replay_base)
            await run.through(query)
    tallies = run.tallies
    if not tallies.reviews:
        raise SettingsError("the ledger has no review of that time: ask further back (--since)")
    found = Replayed(
        format=FORMAT,
        base=Of(file=base.name, revision=revisions[0]),
        base_note=base.note,
        candidate=Of(file=str(asked.candidate), revision=revisions[1]),
        since=milli_text(since_ms),
        until=milli_text(until_ms),
        namespace=asked.namespace or "",
        reviews=tallies.reviews,
        compared=tallies.compared,
        beside=tallies.beside,
        distinct=run.distinct,
        changes=tallies.changes(),
        left=tallies.left(),
        not_reproduced=tallies.unlike_count,
        not_reproduced_examples=tallies.unlike,
        verdict="",
    )
    return msgspec.structs.replace(found, verdict=verdict_of(found))


def exit_code(found: Replayed) -> int:
    """Return the exit code: what could not be judged weighs more than what is newly refused."""
    if not found.whole or found.of(Effect.FAILED):
        return exits.NOT_JUDGED
    return exits.REFUSED if found.of(Effect.NEWLY_REFUSED) else exits.ADMITTED


async def _profiles(settings: Settings) -> ProfileSet:
    """Return the profiles of the cluster that is named, else those that are shipped."""
    if settings.kubeconfig is not None:
        await require_answers(settings.kubeconfig)
    elif settings.cluster is None:
        settings = settings.model_copy(update={"cluster": SHIPPED_PROFILES})
    async with open_cluster(settings, wait_s=CLUSTER_WAIT_S) as cluster:
        return cluster.profiles()


_Key = tuple[str, str, str, str, bool]
"""The digests of projection, context and fields, the kind, and whether rules are asked."""


@dataclass
class _Page:
    """Documents whose inputs are on their way through the processes."""

    cases: list[tuple[DecisionDocument, _Key]]
    keys: list[_Key]
    lost: set[_Key]
    answers: list[asyncio.Future[list[tuple[bytes, bytes]]]]


@dataclass
class _Run:
    """One pass over the record."""

    store: Store
    pool: Executor
    replay_base: ReplayBase
    tallies: Tallies = field(default_factory=Tallies)
    _known: dict[_Key, tuple[BundleAnswer, BundleAnswer] | None] = field(default_factory=dict)
    """None where the ledger has not all of it, or it is on its way."""
    _said: dict[bytes, BundleAnswer] = field(default_factory=dict)
    """Equal answers are kept once."""
    _told: float = field(default_factory=time.monotonic)

    @property
    def distinct(self) -> int:
        """How many different inputs there were."""
        return sum(each is not None for each in self._known.values())

    async def through(self, query: DecisionQuery) -> None:
        """Judge all that a query means: what was decided last, and what was refused before."""
        pending: deque[_Page] = deque()
        async with aclosing(self._documents(query)) as pages:
            async for documents in pages:
                pending.append(await self._begin(documents))
                if len(pending) > _AHEAD:
                    await self._finish(pending.popleft())
        while pending:
            await self._finish(pending.popleft())

    async def _documents(self, query: DecisionQuery) -> AsyncGenerator[list[DecisionDocument]]:
        put = msgspec.structs.replace
        refused = frozenset({Verdict.DENY})
        for asked in (put(query, source="validate"), put(query, source="mutate", verdicts=refused)):
            page = put(asked, limit=min(_PAGE, MOST_ROWS))
            while found := await self.store.find(page):
                documents = list(map(decode_document, found))
                yield documents
                page = put(page, before=documents[-1].id)

    async def _begin(self, documents: Sequence[DecisionDocument]) -> _Page:
        cases = [(document, _key_of(document)) for document in documents]
        new: dict[_Key, str] = {}
        for document, key in cases:
            if key not in self._known and key not in new:
                new[key] = document.cluster
        contents = await self._contents(new)
        lost = {
            key
            for key, cluster in new.items()
            if any(each and (cluster, each) not in contents for each in key[:3])
        }
        keys = [key for key in new if key not in lost]
        recorded = [
            RecordedInput(
                key[3], key[4], *(contents.get((new[key], each), b"") for each in key[:3])
            )
            for key in keys
        ]
        self._known |= dict.fromkeys(new)
        loop = asyncio.get_running_loop()
        answers = [
            loop.run_in_executor(self.pool, ask_both, recorded[start : start + _CHUNK])
            for start in range(0, len(recorded), _CHUNK)
        ]
        return _Page(cases, keys, lost, answers)

    async def _contents(self, new: dict[_Key, str]) -> dict[tuple[str, str], bytes]:
        found: dict[tuple[str, str], bytes] = {}
        for cluster in set(new.values()):
            wanted = {each for key, own in new.items() if own == cluster for each in key[:3]}
            known = await self.store.projections(cluster, sorted(wanted - {""}))
            found |= {(cluster, digest): content for digest, content in known.items()}
        return found

    async def _finish(self, page: _Page) -> None:
        answers = [one for each in page.answers for one in await each]
        for key, (base, candidate) in zip(page.keys, answers, strict=True):
            self._known[key] = self._kept(base), self._kept(candidate)
        for document, key in page.cases:
            self._compare(document, key)
        if time.monotonic() - self._told >= _TELL_EVERY_S:
            self._told = time.monotonic()
            sys.stderr.write(f"{self.tallies.reviews:,} reviews compared\n")

    def _kept(self, content: bytes) -> BundleAnswer:
        said = self._said.get(content)
        if said is None:
            said = self._said[content] = decode_said(content)
        return said

    def _compare(self, document: DecisionDocument, key: _Key) -> None:
        tallies = self.tallies
        tallies.reviews += 1
        both = self._known[key]
        if both is None:
            tallies.leave(document.id, _NOT_KEPT)
            return
        base, candidate = both
        older = not document.context
        for rule in sorted(candidate.unread | base.unread):
            tallies.leave(document.id, _OLDER if older and document.projection else _FIELDS, rule)
        if not any(key[:3]):
            tallies.beside += 1
            return
        was = replay_decision(document, base, base, self.replay_base)
        becomes = replay_decision(document, candidate, base, self.replay_base)
        if was is UnknownReason.NOT_JUDGED:
            tallies.leave(document.id, was, failure=False)
        elif candidate.error and not base.error:
            tallies.note(document, {Effect.FAILED: frozenset()})
        elif isinstance(was, UnknownReason) or isinstance(becomes, UnknownReason):
            unknown = was if isinstance(was, UnknownReason) else becomes
            tallies.leave(document.id, str(unknown))
        else:
            same = document.revisions.policy == self.replay_base.revision
            if same and (was.end is ReplayEnd.REFUSED) == document.allowed:
                tallies.not_reproduced(document.id)
            tallies.compare(document, was, becomes)


def _key_of(document: DecisionDocument) -> _Key:
    asked = document.request
    kind = kind_name(asked.group, asked.kind)
    rules = asked.operation in _JUDGED and document.source != "mutate"
    return (document.projection, document.context, document.fields, kind, rules)
