"""`sallyport egress suggest`: least allowlists for flows that were observed."""

import datetime as dt
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from app.settings.root import Settings
from cli import exits
from cli.egress.flags import FlowFormat
from cli.egress.inputs import look, make_world, open_source, site_of
from cli.output import STANDARD_INPUT, display_file, print_json
from core.base import names
from core.base.errors import SettingsError
from core.base.safe_text import safe_line
from core.base.times import time_text
from core.egress.allowlists import KIND
from egress.analysis.observed_flows import ObservedFlows, observe
from egress.analysis.overlay import FileIntents
from egress.analysis.suggestion import (
    FlowEvidence,
    LeftOutFlow,
    SuggestedEntry,
    Suggestion,
    suggest,
)
from egress.flows.azure import read_azure
from egress.flows.csv_file import read_csv
from egress.flows.hubble import read_hubble
from egress.flows.records import FlowReader, FlowRecord

FORMAT: Final = 1

MAX_BYTES: Final = 1024 * 1024 * 1024
_DAYS: Final = 90
_SHOWN: Final = 5
_OWNER: Final = "REPLACE: the team that answers for it"
_REASON: Final = "REPLACE: what it is for (suggested from observed flows)"


_READERS: Final[Mapping[FlowFormat, FlowReader]] = {
    FlowFormat.HUBBLE: read_hubble,
    FlowFormat.AZURE: read_azure,
    FlowFormat.CSV: read_csv,
}


class SuggestedAllowlists(msgspec.Struct, frozen=True, rename="camel"):
    """What `-o json` prints."""

    format: int
    suggestions: list[Suggestion]
    unread: int
    passed: dict[str, int]
    unknown: int
    """Flows of which nobody knows the service account."""


async def read_flows(
    settings: Settings, files: Sequence[str], form: FlowFormat, namespace: str | None
) -> ObservedFlows:
    """Read flows, and put them together with the cluster, if one is named.

    Raises:
        SettingsError: a file cannot be read.
        ClusterError: the cluster does not answer.
    """
    records = [(file, each) for file in files for each in _read(file, form)]
    async with open_source(settings) as source:
        seen = await look(settings, source, None, FileIntents())
        world = await make_world(seen, site_of(settings), source.ask)
    observed = observe(records, world)
    if namespace is None:
        return observed
    mine = tuple(flow for flow in observed.flows if flow.namespace == namespace)
    return ObservedFlows(mine, world, observed.unread, observed.passed, observed.unknown)


def _read(file: str, form: FlowFormat) -> Iterator[FlowRecord]:
    text = _text(file)
    yield from _READERS[_form(text) if form is FlowFormat.AUTO else form](text)


def _text(file: str) -> str:
    try:
        if file == STANDARD_INPUT:
            raw = sys.stdin.buffer.read(MAX_BYTES + 1)
        elif Path(file).is_file():
            with Path(file).open("rb") as stream:
                raw = stream.read(MAX_BYTES + 1)
        else:
            raise SettingsError(f"{file}: is no regular file: name a file, or - for standard input")
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}") from error
    if len(raw) > MAX_BYTES:
        raise SettingsError(f"{file}: is larger than {MAX_BYTES} bytes: split it")
    return raw.decode("utf-8-sig", errors="replace")


def _form(text: str) -> FlowFormat:
    """Return the format of a text: JSON with `records`, lines of JSON, or CSV."""
    head = text.lstrip()[:1]
    if head != "{":
        return FlowFormat.CSV
    start = "".join(text.lstrip()[:200].split())
    return FlowFormat.AZURE if start.startswith('{"records":') else FlowFormat.HUBBLE


def write(observed: ObservedFlows, *, as_json: bool) -> None:
    """Print the suggestions; on standard error what could not be read, or is of nobody."""
    suggestions = suggest(observed)
    if as_json:
        passed = dict(observed.passed)
        print_json(
            SuggestedAllowlists(FORMAT, suggestions, len(observed.unread), passed, observed.unknown)
        )
    else:
        ends = dt.datetime.fromtimestamp(observed.world.site.now, dt.UTC) + dt.timedelta(_DAYS)
        texts = [text for each in suggestions for text in _texts(each, f"{ends:%Y-%m-%d}")]
        sys.stdout.write("---\n".join(texts))
    for line in _told(observed):
        sys.stderr.write(f"sallyport: {safe_line(line)}\n")


def exit_code(observed: ObservedFlows) -> int:
    """Return the exit code: whether anything could be read."""
    return exits.ADMITTED if observed.flows or not observed.unread else exits.NOT_JUDGED


def _told(observed: ObservedFlows) -> Iterator[str]:
    for file, each in observed.unread[:_SHOWN]:
        yield f"{display_file(file)}: record {each.line}: {each.why}"
    if observed.unread:
        count = len(observed.unread)
        yield f"{count} record{'' if count == 1 else 's'} could not be read, and left out"
    for why, count in sorted(observed.passed.items()):
        yield f"{count} passed over: {why}"
    if observed.unknown:
        yield (
            f"{observed.unknown} flows are of no known service account: name the cluster "
            "(--kubeconfig or --cluster) whose Pods they are of, while these run"
        )
    if not observed.flows:
        yield "no flow of a service account was read: nothing is suggested"


def _texts(suggestion: Suggestion, ends: str) -> Iterator[str]:
    for index, part in enumerate(suggestion.parts()):
        yield "".join(_lines(suggestion, part, index, ends))
    if not suggestion.entries:
        who = f"{suggestion.namespace}/{suggestion.service_account}"
        yield "".join([f"# {who} needs nothing.\n", *_left(suggestion.left_out)])


def _lines(
    suggestion: Suggestion, part: Sequence[SuggestedEntry], index: int, ends: str
) -> Iterator[str]:
    account = suggestion.service_account
    yield f"# What {suggestion.namespace}/{account} was seen to connect to.\n"
    if index == 0:
        yield from _left(suggestion.left_out)
    suffix = f"-{index + 1}" if index else ""
    head = {
        "apiVersion": names.API_VERSION,
        "kind": KIND,
        "metadata": {"name": f"{account}{suffix}", "namespace": suggestion.namespace},
        "spec": {
            "serviceAccounts": [account],
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


def _left(left: Iterable[LeftOutFlow]) -> Iterator[str]:
    for each in left:
        what = f"{each.to} {each.why}; {'; '.join(_worded(each.evidence))}"
        yield f"# Left out: {safe_line(what)}\n"


def _worded(evidence: FlowEvidence) -> Iterator[str]:
    verdicts = [
        f"{count} {word}"
        for count, word in ((evidence.forwarded, "forwarded"), (evidence.dropped, "dropped"))
        if count
    ]
    said = f" ({', '.join(verdicts)})" if verdicts else ""
    times = _times(evidence)
    pods = f", by {', '.join(evidence.pods[:_SHOWN])}" if evidence.pods else ""
    yield safe_line(f"{evidence.flows} flow{'' if evidence.flows == 1 else 's'}{said}{times}{pods}")
    if evidence.dropped and not evidence.forwarded:
        yield "all of them were dropped: does it need it, or did it only try?"
    if evidence.also:
        yield safe_line(f"also known as {', '.join(evidence.also[:_SHOWN])}")
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
