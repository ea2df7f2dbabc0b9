"""`sallyport egress suggest`: least allowlists for flows that were observed."""

import datetime as dt
import hashlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec
import yaml

from app.settings.root import Settings
from cli import exits
from cli.egress.flags import FlowFormat
from cli.egress.flow_files import observe_files, read_workloads, unread_lines
from cli.egress.inputs import look, make_world, open_source, site_of
from cli.output import print_json
from core.base import names
from core.base.safe_text import safe_line
from core.base.times import time_text
from core.egress.allowlists import KIND
from egress.analysis.observed_flows import ObservedFlows
from egress.analysis.overlay import FileIntents
from egress.analysis.suggestion import (
    FlowEvidence,
    LeftOutFlow,
    SuggestedEntry,
    Suggestion,
    WildcardOffer,
    suggest,
)

FORMAT: Final = 1

_DAYS: Final = 90
_SHOWN: Final = 5
_LONGEST_NAME: Final = 200
_DIGEST: Final = 10
_OWNER: Final = "REPLACE: the team that answers for it"
_REASON: Final = "REPLACE: what it is for (suggested from observed flows)"


class UnknownSource(msgspec.Struct, frozen=True):
    """Whose flows have no service account, as far as that is known."""

    source: str
    flows: int


class SuggestedAllowlists(msgspec.Struct, frozen=True, rename="camel"):
    """What `-o json` prints."""

    format: int
    suggestions: list[Suggestion]
    unread: int
    passed: dict[str, int]
    unknown: int
    """Flows of which nobody knows the service account."""
    left_out: int = 0
    """Flows beyond what is kept of one source, or of all."""
    unknown_sources: list[UnknownSource] = []


async def read_flows(
    settings: Settings, files: Sequence[str], form: FlowFormat, namespace: str | None
) -> ObservedFlows:
    """Read flows, and put them together with the cluster, if one is named.

    Raises:
        SettingsError: a file cannot be read.
        ClusterError: the cluster does not answer.
    """
    async with open_source(settings) as source:
        seen = await look(settings, source, None, FileIntents())
        world = await make_world(seen, site_of(settings), source.ask)
        workloads = await read_workloads(settings, source)
    observed = observe_files(files, form, world, workloads)
    return observed if namespace is None else observed.within(namespace)


def write(observed: ObservedFlows, *, as_json: bool) -> None:
    """Print the suggestions; on standard error what could not be read, or is of nobody."""
    suggestions = suggest(observed)
    if as_json:
        passed = dict(observed.passed)
        print_json(
            SuggestedAllowlists(
                FORMAT,
                suggestions,
                observed.unread_count,
                passed,
                observed.unknown,
                observed.left_out,
                [UnknownSource(who, count) for who, count in observed.unknown_sources],
            )
        )
    else:
        ends = dt.datetime.fromtimestamp(observed.world.site.now, dt.UTC) + dt.timedelta(_DAYS)
        texts = [text for each in suggestions for text in _texts(each, f"{ends:%Y-%m-%d}")]
        sys.stdout.write("---\n".join(texts))
    for line in _told(observed):
        sys.stderr.write(f"sallyport: {safe_line(line)}\n")


def exit_code(observed: ObservedFlows) -> int:
    """Return the exit code: whether anything could be read."""
    return exits.ADMITTED if observed.flows or not observed.unread_count else exits.NOT_JUDGED


def _told(observed: ObservedFlows) -> Iterator[str]:
    yield from unread_lines(observed)
    if not observed.flows:
        yield "no flow of a service account was read: nothing is suggested"


def _texts(suggestion: Suggestion, ends: str) -> Iterator[str]:
    for index, part in enumerate(suggestion.parts()):
        yield "".join(_lines(suggestion, part, index, ends))
    if not suggestion.entries:
        yield "".join([f"# {_who(suggestion)} needs nothing.\n", *_left(suggestion.left_out)])


def _who(suggestion: Suggestion) -> str:
    workload = suggestion.workload
    of = f" ({workload.kind} {workload.name})" if workload else ""
    return safe_line(f"{suggestion.namespace}/{suggestion.service_account}{of}")


def _lines(
    suggestion: Suggestion, part: Sequence[SuggestedEntry], index: int, ends: str
) -> Iterator[str]:
    yield f"# What {_who(suggestion)} was seen to connect to.\n"
    if index == 0:
        yield from _of_runs(suggestion.runs)
        yield from _left(suggestion.left_out)
        yield from _offered(suggestion.wildcards)
    workload = suggestion.workload
    narrowed = [{"kind": workload.kind, "name": workload.name}] if workload else None
    head = {
        "apiVersion": names.API_VERSION,
        "kind": KIND,
        "metadata": {"name": _name(suggestion, index), "namespace": suggestion.namespace},
        "spec": {
            "serviceAccounts": [suggestion.service_account],
            **({"workloads": narrowed} if narrowed else {}),
            "owner": _OWNER,
            "reason": _REASON,
            "expiresAt": f"{ends}T00:00:00Z",
        },
    }
    yield _yaml(head)
    yield "  to:\n"
    for each in part:
        yield from (f"    # {line}\n" for line in _worded(each.evidence))
        yield from (f"    {line}\n" for line in _yaml([each.entry]).splitlines())


def _name(suggestion: Suggestion, index: int) -> str:
    """Return a name for an allowlist: of service account, workload and part, cut where needed."""
    workload = suggestion.workload
    of = f"-{workload.kind.lower()}-{workload.name}" if workload else ""
    part = f"-{index + 1}" if index else ""
    whole = f"{suggestion.service_account}{of}"
    if len(whole) > _LONGEST_NAME:
        digest = hashlib.sha256(whole.encode()).hexdigest()[:_DIGEST]
        whole = f"{whole[: _LONGEST_NAME - _DIGEST - 1].rstrip('-.')}-{digest}"
    return f"{whole}{part}"


def _of_runs(runs: Sequence[str]) -> Iterator[str]:
    if runs:
        shown = ", ".join(runs)
        yield f"# {safe_line(f'Seen of {shown}: each run has a name of its own')}\n"


def _offered(wildcards: Iterable[WildcardOffer]) -> Iterator[str]:
    for each in wildcards:
        yield (
            f"# To look at: {each.names} names below {each.pattern.removeprefix('*.')}: one entry "
            f"dnsName: {each.pattern!r} would open them, and every other name there.\n"
        )
        if each.warning:
            yield f"#   {safe_line(each.warning)}\n"


def _left(left: Iterable[LeftOutFlow]) -> Iterator[str]:
    for each in left:
        what = f"{each.to} {each.why}; {'; '.join(_worded(each.evidence))}"
        yield f"# Left out: {safe_line(what)}\n"


def _worded(evidence: FlowEvidence) -> Iterator[str]:
    verdicts = [
        f"{count} {word}"
        for count, word in (
            (evidence.forwarded, "forwarded"),
            (evidence.audited, "audited"),
            (evidence.dropped, "dropped"),
        )
        if count
    ]
    said = f" ({', '.join(verdicts)})" if verdicts else ""
    times = _times(evidence)
    pods = f", by {', '.join(evidence.pods[:_SHOWN])}" if evidence.pods else ""
    yield safe_line(f"{evidence.flows} flow{'' if evidence.flows == 1 else 's'}{said}{times}{pods}")
    if evidence.dropped and not (evidence.forwarded or evidence.audited):
        yield "all of them were dropped: does it need it, or did it only try?"
    if evidence.also:
        yield safe_line(f"also known as {', '.join(evidence.also[:_SHOWN])}")
    for warning in evidence.warnings:
        yield safe_line(f"to look at: {warning}")
    if evidence.tags:
        yield safe_line(f"service tags that have it, and more: {', '.join(evidence.tags)}")


def _times(evidence: FlowEvidence) -> str:
    if evidence.first is None or evidence.last is None:
        return ""
    first, last = map(_time, (evidence.first, evidence.last))
    return f", {first}" if first == last else f", {first} to {last}"


def _time(seconds: float) -> str:
    try:
        return time_text(seconds)
    except (OverflowError, ValueError, OSError):  # Beyond what a date can be.
        return "a time that is no date"


def _yaml(value: Any) -> str:
    text: str = yaml.dump(value, Dumper=yaml.CSafeDumper, sort_keys=False, width=1000)
    return text
