"""Our verdicts beside those of kube-apiserver's Pod Security admission, Pod by Pod."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Final

import msgspec

from tests.harness.programs.client import CONNECTIONS, Answer, Client, Outcome
from tests.harness.worlds.pods import Pod, pods

Judge = Callable[[Pod, str], bool]
"""(Pod, profile) -> whether the profile covers all that the Pod needs."""

PROFILES: Final[Mapping[str, str]] = MappingProxyType(
    {level: f"pss-{level}" for level in ("restricted", "baseline", "privileged")},
)
"""Our profile for each level of the Pod Security Standards, and the namespace to ask in."""

BATCH: Final = 500
_ENFORCE: Final = "pod-security.kubernetes.io/enforce"
_REFUSED_BY_POD_SECURITY: Final = "violates PodSecurity"


class Disagreement(msgspec.Struct, frozen=True):
    """A Pod on which kube-apiserver and we differ.

    `view` is the Pod that we were shown: `submitted` (as its author wrote it) or `admitted`
    (as kube-apiserver defaulted it, which is what a webhook sees).
    """

    pod: str
    level: str
    view: str
    ours: bool
    theirs: bool
    message: str


class Tally(msgspec.Struct, frozen=True):
    """What was found over some Pods; tallies add up.

    `verdicts` counts valid Pods by what each level says of them. `refusals` holds each
    different message of a refusal's checks once.
    """

    asked: int = 0
    invalid: int = 0
    seconds: float = 0.0
    verdicts: dict[str, int] = {}
    refusals: frozenset[str] = frozenset()
    disagreements: tuple[Disagreement, ...] = ()

    @property
    def valid(self) -> int:
        """How many Pods the API itself accepts."""
        return self.asked - self.invalid

    def __add__(self, other: "Tally") -> "Tally":
        """Return the tally over both."""
        return Tally(
            asked=self.asked + other.asked,
            invalid=self.invalid + other.invalid,
            seconds=self.seconds + other.seconds,
            verdicts=dict(Counter(self.verdicts) + Counter(other.verdicts)),
            refusals=self.refusals | other.refusals,
            disagreements=self.disagreements + other.disagreements,
        )

    def lines(self) -> list[str]:
        """Return the numbers as Markdown list items."""
        return [
            f"- Pods asked about: {self.asked}, of which the API refuses as invalid: "
            f"{self.invalid} ({self.invalid / max(self.asked, 1):.0%})",
            f"- Valid Pods compared: {self.valid}, each at {len(PROFILES)} levels, "
            "as submitted and as admitted",
            *(f"- {verdict}: {count} Pods" for verdict, count in sorted(self.verdicts.items())),
            f"- Disagreements: {len(self.disagreements)}",
            f"- Time: {self.seconds:.0f} s, {self.asked / max(self.seconds, 1e-9):.0f} Pods/s",
        ]


async def create_namespace(client: Client, name: str, level: str) -> None:
    """Create a namespace that enforces a level, of its latest version."""
    await client.create_namespace(name, {_ENFORCE: level, f"{_ENFORCE}-version": "latest"})


async def compare(  # noqa: PLR0913 (what to ask, how much, and how to go on)
    client: Client,
    judge: Judge,
    *,
    seed: int,
    valid: int,
    journal: Path | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Tally:
    """Compare verdicts on at least `valid` valid Pods, in namespaces `pss-<level>`.

    With a `journal`, each batch is noted there when it is done, and batches that it already
    holds are not asked about again; `say` gets a line of progress for each batch.
    """
    tally = sum(_read(journal), start=Tally()) if journal else Tally()
    stream = islice(pods(seed), tally.asked, None)
    for level, namespace in PROFILES.items():
        await create_namespace(client, namespace, level)
    while tally.valid < valid:
        done = await _compare_batch(client, judge, list(islice(stream, BATCH)))
        tally += done
        if journal:
            with journal.open("ab") as lines:
                lines.write(msgspec.json.encode(done) + b"\n")
        say(
            f"{tally.valid}/{valid} valid Pods, {len(tally.disagreements)} disagreements, "
            f"{done.asked / done.seconds:.0f} Pods/s",
        )
    return tally


def _read(journal: Path) -> list[Tally]:
    """Return the whole lines of a journal, cutting off one that was not written out."""
    if not journal.exists():
        return []
    content = journal.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if whole != content:
        journal.write_bytes(whole)
    return [msgspec.json.decode(line, type=Tally) for line in whole.splitlines()]


async def _compare_batch(client: Client, judge: Judge, batch: Sequence[tuple[str, Pod]]) -> Tally:
    """Ask about the Pods of a batch, 8 at once; the sum does not depend on their order."""
    started = time.perf_counter()
    stream = iter(batch)
    sums = await asyncio.gather(*(_work(client, judge, stream) for _ in range(CONNECTIONS)))
    return sum(sums, start=Tally(seconds=time.perf_counter() - started))


async def _work(client: Client, judge: Judge, stream: Iterator[tuple[str, Pod]]) -> Tally:
    tally = Tally()
    for name, pod in stream:
        tally += await _compare_pod(client, judge, name, pod)
    return tally


async def _compare_pod(client: Client, judge: Judge, name: str, pod: Pod) -> Tally:
    answers = {"privileged": await client.dry_run_create(pod, PROFILES["privileged"])}
    if answers["privileged"].outcome is Outcome.INVALID:
        return Tally(asked=1, invalid=1)
    for level in ("baseline", "restricted"):
        answers[level] = await client.dry_run_create(pod, PROFILES[level])
    views = {"submitted": pod, "admitted": answers["privileged"].body}
    return _tally(name, answers, views, judge)


def _tally(
    name: str,
    answers: Mapping[str, Answer],
    views: Mapping[str, Pod],
    judge: Judge,
) -> Tally:
    """Compare the answers for one valid Pod with our verdicts on each view of it."""
    theirs = {level: _verdict(name, answer) for level, answer in answers.items()}
    disagreements = tuple(
        Disagreement(name, level, view, ours, theirs[level], answers[level].message)
        for view, shown in views.items()
        for level, profile in PROFILES.items()
        if (ours := judge(shown, profile)) is not theirs[level]
    )
    verdict = ", ".join(f"{k} {'admits' if theirs[k] else 'refuses'}" for k in PROFILES)
    refusals = frozenset(answer.message for answer in answers.values() if answer.message)
    return Tally(
        asked=1,
        verdicts={verdict: 1},
        refusals=refusals,
        disagreements=disagreements,
    )


def _verdict(name: str, answer: Answer) -> bool:
    """Return whether Pod Security admits; any other reason to refuse is a broken harness."""
    if answer.outcome is Outcome.ALLOWED:
        return True
    if answer.outcome is Outcome.DENIED and _REFUSED_BY_POD_SECURITY in answer.message:
        return False
    raise AssertionError(f"{name}: not refused by Pod Security, but: {answer.message}")
