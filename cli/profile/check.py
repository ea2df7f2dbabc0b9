"""`sallyport profile check`: what of a namespace would be refused under a profile."""

import sys
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from admission.judge import Judge
from app.settings.root import Settings
from cli import exits
from cli.output import COLOURS, WORDS
from cli.profile.idle_patterns import find_idle_patterns
from cli.profile.pods import NOTHING_JUDGED, FoundPod, SkippedObject, find_pods, is_file
from cli.session import tell_progress
from cli.shared.defaults_preview import fills_asked
from cli.shared.judge import BUDGET, open_judge, require_profile
from cli.shared.results import Fill, Result, describe_fill, findings_of
from core.base.errors import SettingsError
from core.base.safe_text import safe_line
from core.decision.decision import Finding, Verdict
from core.decision.namespaces import Mode

_MOST_PATHS: Final = 4
_ORDER: Final = (Verdict.ALLOW, Verdict.WARN, Verdict.DENY, Verdict.ERROR)


class CheckedWorkload(msgspec.Struct, frozen=True):
    """One element of what `-o json` prints: a workload, by all its Pods."""

    workload: str
    """`Deployment train/server`."""
    verdict: Verdict
    """The worst of its Pods'."""
    pods: int
    findings: list[Finding]
    """Each once, in the order in which they were found."""
    defaults: list[Fill] = []
    """What the profile's defaults would fill in, where it admits all of them."""
    notes: list[str] = []
    """What nobody could know of its Pods, each once."""


async def check_profile(settings: Settings, profile: str, target: str) -> list[CheckedWorkload]:
    """Judge what is in a namespace, or in files, by one profile, as where it is enforced.

    The ceiling of the namespace does not count: what is asked is what the profile covers.

    Raises:
        SettingsError: there is no such profile, or nothing to judge.
        ClusterError, CannotJudgeError: the cluster does not answer.
    """
    workloads: dict[str, list[_Judged]] = {}
    pods: dict[str, int] = {}
    async with open_judge(settings) as judge:
        require_profile(judge.gatherer.cluster, profile)
        _tell_idle(judge, profile)
        count = 0
        async for found in find_pods(settings, [target], profile):
            if isinstance(found, SkippedObject):
                sys.stderr.write(f"{safe_line(str(found))}\n")
                continue
            count += 1
            tell_progress(count, "judged")
            name = found.element.file if isinstance(found, Result) else found.workload
            workloads.setdefault(name, []).append(await _judge(judge, found))
            pods[name] = pods.get(name, 0) + (1 if isinstance(found, Result) else found.pods)
    if not workloads:
        where = target if is_file(target) else f"namespace {target}"
        raise SettingsError(f"{where}: {NOTHING_JUDGED}")
    return [_checked(name, judged, pods[name]) for name, judged in workloads.items()]


def _tell_idle(judge: Judge, profile: str) -> None:
    """Say on standard error which of a profile's patterns cover nothing."""
    patterns = judge.gatherer.cluster.profiles().by_name[profile].patterns
    for said in find_idle_patterns(patterns, judge.gatherer.engine.rules):
        sys.stderr.write(f"{safe_line(f'sallyport: ContainerProfile {profile}: {said}')}\n")


def exit_code(checked: Iterable[CheckedWorkload]) -> int:
    """Return the exit code, as `sallyport review` does."""
    verdicts = {one.verdict for one in checked}
    if Verdict.ERROR in verdicts:
        return exits.NOT_JUDGED
    return exits.REFUSED if Verdict.DENY in verdicts else exits.ADMITTED


class _Judged(NamedTuple):
    verdict: Verdict
    findings: Sequence[Finding]
    fills: Sequence[Fill] = ()
    notes: Sequence[str] = ()


async def _judge(judge: Judge, found: FoundPod | Result) -> _Judged:
    if isinstance(found, Result):
        return _Judged(Verdict.ERROR, found.element.findings)
    decision = await judge.examine(found.request, Mode.ENFORCE, budget=BUDGET)
    findings = [_placed(each, found.prefix) for each in findings_of(decision)]
    profiles = judge.gatherer.cluster.profiles()
    return _Judged(
        decision.verdict,
        findings,
        fills_asked(
            profiles,
            decision.profile,
            found.request,
            found.prefix,
            decision.evidence.projection,
        ),
        found.notes(judge.gatherer.cluster),
    )


def _placed(finding: Finding, prefix: str) -> Finding:
    path = ".".join(part for part in (prefix, finding.path) if part)
    return msgspec.structs.replace(finding, path=path)


def _checked(name: str, judged: Sequence[_Judged], pods: int) -> CheckedWorkload:
    worst = max((each.verdict for each in judged), key=_ORDER.index)
    findings: dict[bytes, Finding] = {}
    fills: dict[bytes, Fill] = {}
    for each in judged:
        for finding in each.findings:
            findings.setdefault(msgspec.json.encode(finding), finding)
        for fill in each.fills:
            fills.setdefault(msgspec.json.encode(fill), fill)
    admitted = worst in {Verdict.ALLOW, Verdict.WARN}
    return CheckedWorkload(
        name,
        worst,
        pods,
        list(findings.values()),
        list(fills.values()) if admitted else [],
        list(dict.fromkeys(note for each in judged for note in each.notes)),
    )


def print_checked(profile: str, checked: Sequence[CheckedWorkload], console: Console) -> None:
    """Print a table of workloads, then what is wrong with each."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("VERDICT", "WORKLOAD", "PODS", "FINDINGS"):
        table.add_column(column, overflow="fold")
    for one in checked:
        word = Text(WORDS[one.verdict], style=COLOURS[one.verdict])
        name = Text(safe_line(one.workload))
        table.add_row(word, name, str(one.pods), str(len(one.findings)))
    console.print(table)
    for one in checked:
        if one.findings:
            console.print()
            is_older = one.verdict is Verdict.WARN and any(each.privilege for each in one.findings)
            older = ", which is written for an older catalogue" if is_older else ""
            title = f"{one.workload}, under {profile}{older}:"
            console.print(Text(safe_line(title), style="bold"))
            _print_findings(one.findings, console)
    for one in checked:
        for note in one.notes:
            console.print()
            console.print(Text(safe_line(f"{one.workload}: {note}.")))
    for one in checked:
        if one.defaults:
            console.print()
            title = f"{one.workload}: {profile} fills in, when Pods are created:"
            console.print(Text(safe_line(title), style="bold"))
            for fill in one.defaults:
                console.print(Text(safe_line(describe_fill(fill))))


def _print_findings(findings: Iterable[Finding], console: Console) -> None:
    groups: dict[tuple[str, str, str], list[str]] = {}
    for finding in findings:
        key = (finding.message, finding.remedy, finding.privilege or finding.rule)
        groups.setdefault(key, []).append(finding.path)
    for (message, remedy, tail), paths in groups.items():
        places = ", ".join(filter(None, paths[:_MOST_PATHS]))
        if len(paths) > _MOST_PATHS:
            places += f" and {len(paths) - _MOST_PATHS} more"
        line = f"  {places}: {message} ({tail})" if places else f"  {message} ({tail})"
        console.print(Text(safe_line(line)))
        console.print(Text(safe_line(f"    Fix: {remedy}")))
