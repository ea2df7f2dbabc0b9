"""Queries as KQL, for Microsoft Sentinel and Log Analytics. Pure.

learn.microsoft.com/kusto/query: `=~`, `in~`, `startswith` and `contains` compare without
case; `let` gives a value a name.
"""

from collections.abc import Iterator
from typing import Final

from audit.access.model.detection import Detection
from audit.siem.queries import (
    ACCOUNTS,
    EXPECTED,
    PARAMETERS,
    PLACES,
    Condition,
    Match,
    SiemQuery,
    SiemRule,
)

_OPERATORS: Final = {
    Match.STARTS: ("startswith", "!startswith"),
    Match.CONTAINS: ("contains", "!contains"),
}
_LETS: Final = {
    PLACES: 'let weights = dynamic(["/ACCOUNT/CONTAINER/"]); // fill in: where weights lie',
    ACCOUNTS: 'let accounts = dynamic(["ACCOUNT"]); // fill in: the accounts that hold them',
    EXPECTED: 'let expected = dynamic(["OBJECT-ID"]); // fill in: who is expected there',
}
_LOOKS_BACK_H: Final = 14 * 24
_ADDRESS: Final = "CallerIpAddress"


def render_kql(rule: SiemRule, detection: Detection) -> str:
    """Return the file of a rule: its queries one after the other; at least one."""
    parts = [_heading(rule, detection)]
    many = len(rule.queries) > 1
    for query in rule.queries:
        title = f"// {query.says[:1].upper()}{query.says[1:]}\n" if many else ""
        parts.append(f"{title}{render_query(query)}\n")
    return "\n".join(parts)


def render_query(query: SiemQuery) -> str:
    """Return one query; it ends without a line's end."""
    used = set(_parameters(query))
    lets = [text for name, text in _LETS.items() if name in used]
    lines = [query.table.value]
    lines += [f"| where {_condition(each)}" for each in query.conditions]
    lines += _counted(query)
    return "\n".join([*lets, *lines])


def _heading(rule: SiemRule, detection: Detection) -> str:
    techniques = ", ".join(detection.techniques)
    lines = [
        f"// {detection.title}",
        f"// Sallyport's detection {rule.detection}, severity at most "
        f"{detection.severity.value}; {techniques}",
    ]
    if rule.leaves_out:
        lines.append(f"// The detection sees besides: {rule.leaves_out}")
    if any(query.count and query.count.hours > _LOOKS_BACK_H for query in rule.queries):
        lines.append("// For hunting: scheduled rules of Sentinel look back fourteen days at most.")
    return "\n".join(lines) + "\n"


def _parameters(query: SiemQuery) -> Iterator[str]:
    return (each for condition in query.conditions for each in condition.values)


def _condition(condition: Condition) -> str:
    column, values, match = condition.column, condition.values, condition.match
    if set(values) <= PARAMETERS:
        return _by_parameter(condition)
    if match is Match.IS:
        listed = ", ".join(map(_text, values))
        if len(values) == 1:
            return f"{column} {'!~' if condition.negated else '=~'} {listed}"
        return f"{column} {'!in~' if condition.negated else 'in~'} ({listed})"
    operator = _OPERATORS[match][condition.negated]
    joint = " and " if condition.negated else " or "
    return joint.join(f"{column} {operator} {_text(value)}" for value in values)


def _by_parameter(condition: Condition) -> str:
    (name,) = condition.values
    if condition.match is Match.IS:
        return f"{condition.column} {'!in~' if condition.negated else 'in~'} ({name})"
    return f"{condition.column} has_any ({name})"


def _counted(query: SiemQuery) -> Iterator[str]:
    count = query.count
    if count is None:
        return
    used = {*count.by, count.distinct}
    if _ADDRESS in used:
        # Of IPv6 only an address in brackets has a port.
        yield f'| extend {_ADDRESS} = iff({_ADDRESS} startswith "["'
        yield f'    or countof({_ADDRESS}, ":") == 1,'
        yield rf'    extract(@"^\[?([^\]]+?)\]?:\d+$", 1, {_ADDRESS}), {_ADDRESS})'
    if count.total:
        value = f"sum(tolong({count.total}))"
    elif count.distinct:
        value = f"dcount({count.distinct})"
    else:
        value = "count()"
    window = f"bin(TimeGenerated, {count.hours}h)"
    yield f"| summarize Value = {value}, First = min(TimeGenerated), Last = max(TimeGenerated)"
    yield f"    by {', '.join((*count.by, window))}"
    yield f"| where Value >= {count.least}"


def _text(value: str) -> str:
    """Return a literal of KQL."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
