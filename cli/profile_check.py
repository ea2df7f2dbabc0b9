"""`sallyport profile check`: what of a namespace would be refused under a profile."""

import sys
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from admission.chain import run
from admission.judge import Judge
from cli import exits
from cli.examining import Found, PassedOver, found_in, is_file
from cli.output import COLOURS, WORDS, Result
from cli.review import BUDGET, open_judge
from cli.settings import Settings
from cli.text import safe_line
from core.decision import Action, Finding, Verdict
from core.errors import CannotJudgeError, InvalidObjectError, SettingsError
from core.namespaces import Mode
from core.within import within

_PROGRESS_EVERY: Final = 500
_MOST_PATHS: Final = 4
_ERROR_REMEDY: Final = "Mend the object, or what it is judged with, and check it again."
_ORDER: Final = (Verdict.ALLOW, Verdict.WARN, Verdict.DENY, Verdict.ERROR)


class Checked(msgspec.Struct, frozen=True):
    """One element of what `-o json` prints: a workload, by all its Pods."""

    workload: str
    """`Deployment train/server`."""
    verdict: Verdict
    """The worst of its Pods'."""
    pods: int
    findings: list[Finding]
    """Each once, in the order in which they were found."""


async def check_profile(settings: Settings, profile: str, target: str) -> list[Checked]:
    """Judge what is in a namespace, or in files, by one profile, as where it is enforced.

    Raises:
        SettingsError: there is no such profile, or nothing to judge.
        ClusterError, CannotJudgeError: the cluster does not answer.
    """
    workloads: dict[str, list[_Judged]] = {}
    async with open_judge(settings) as judge:
        known = judge.gatherer.cluster.profiles().by_name
        if profile not in known:
            raise SettingsError(f"{profile}: no such profile; there are: {', '.join(known)}")
        count = 0
        async for found in found_in(settings, [target], profile):
            if isinstance(found, PassedOver):
                sys.stderr.write(f"{safe_line(str(found))}\n")
                continue
            count += 1
            if count % _PROGRESS_EVERY == 0:
                sys.stderr.write(f"{count} objects judged\n")
            name = found.element.file if isinstance(found, Result) else found.workload
            workloads.setdefault(name, []).append(await _judge(judge, found))
    if not workloads:
        where = target if is_file(target) else f"namespace {target}"
        raise SettingsError(f"no Pod and no Pod template found in {where}")
    return [_checked(name, judged) for name, judged in workloads.items()]


def exit_code(checked: Iterable[Checked]) -> int:
    """Give the exit code, as `sallyport review` does."""
    verdicts = {one.verdict for one in checked}
    if Verdict.ERROR in verdicts:
        return exits.NOT_JUDGED
    return exits.REFUSED if Verdict.DENY in verdicts else exits.ADMITTED


_Judged = tuple[Verdict, Sequence[Finding]]


async def _judge(judge: Judge, found: Found | Result) -> _Judged:
    if isinstance(found, Result):
        return Verdict.ERROR, found.element.findings
    try:
        work = judge.gatherer.gather(found.request, None, Mode.ENFORCE)
        facts = await within(BUDGET, work)
    except (CannotJudgeError, InvalidObjectError, TimeoutError) as error:
        why = str(error) or f"not done within {BUDGET:g} s"
        kind = error.kind if isinstance(error, CannotJudgeError) else "object"
        field = error.field if isinstance(error, InvalidObjectError) else ""
        return Verdict.ERROR, [Finding(f"error/{kind}", Action.DENY, field, why, _ERROR_REMEDY)]
    findings = [
        _placed(finding, found.prefix)
        for outcome in run(found.request, facts)
        for finding in outcome.findings
    ]
    if any(finding.action is Action.DENY for finding in findings):
        return Verdict.DENY, findings
    return (Verdict.WARN if findings else Verdict.ALLOW), findings


def _placed(finding: Finding, prefix: str) -> Finding:
    path = ".".join(part for part in (prefix, finding.path) if part)
    return msgspec.structs.replace(finding, path=path)


def _checked(name: str, judged: Sequence[_Judged]) -> Checked:
    worst = max((verdict for verdict, _ in judged), key=_ORDER.index)
    findings: dict[bytes, Finding] = {}
    for _, found in judged:
        for finding in found:
            findings.setdefault(msgspec.json.encode(finding), finding)
    return Checked(name, worst, len(judged), list(findings.values()))


def print_checked(profile: str, checked: Sequence[Checked], console: Console) -> None:
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
            title = f"{one.workload}, under {profile}:"
            console.print(Text(safe_line(title), style="bold"))
            _print_findings(one.findings, console)


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
