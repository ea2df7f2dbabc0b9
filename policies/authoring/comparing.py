"""Compares what a case expects with what was found, as the lines of a diff."""

from collections.abc import Sequence

from policies.authoring.cases import Expected


def difference(expected: Sequence[Expected], found: Sequence[Expected]) -> list[str]:
    """Give a line `- …` for each that was expected and not found, `+ …` for the opposite.

    Each is found once; what names a path or a message too is looked for first.
    """
    left, missing = list(found), []
    for each in sorted(expected, key=_vague):
        match = next((one for one in left if _fits(each, one)), None)
        if match is None:
            missing.append(f"- {_line(each)}")
        else:
            left.remove(match)
    return [*missing, *(f"+ {_line(one)}" for one in left)]


def _vague(expected: Expected) -> int:
    return (expected.path is None) + (expected.message is None)


def _fits(expected: Expected, found: Expected) -> bool:
    return (
        found.rule in {expected.rule, f"rules/{expected.rule}", f"sandbox/{expected.rule}"}
        and expected.path in {None, found.path}
        and expected.message in {None, found.message}
    )


def _line(each: Expected) -> str:
    parts = {"rule": each.rule, "path": each.path, "message": each.message}
    return ", ".join(f"{name}: {value}" for name, value in parts.items() if value is not None)
