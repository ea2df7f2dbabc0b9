"""Prints who can open the weights."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from cli.weights.access import Accesses
from core.base.safe_text import safe_line
from core.weights.documents.store_access import Ability, Holder, StoreAccess


def print_accesses(found: Accesses, console: Console) -> None:
    """Print it for people."""
    for number, access in enumerate(found.stores):
        if number:
            console.print()
        _print_store(access, console)


def _print_store(access: StoreAccess, console: Console) -> None:
    console.print(Text(safe_line(f"{access.store}, as of {access.at}"), style="bold"))
    console.print(Text(safe_line(access.resource), style="dim"))
    for gap in access.gaps:
        console.print(Text(safe_line(f"not read: {gap}"), style="yellow"))
    console.print()
    for holder in access.holders:
        _print_holder(holder, console)
    if not access.holders:
        console.print("No role assignment opens it." if access.complete else "No holder was read.")
    console.print()
    if not access.differing:
        what, style = ("What was read", "yellow") if access.gaps else ("All", "green")
        console.print(Text(f"{what} is as the WeightStore and the grants say.", style=style))
    for one in access.differing:
        whose = f"{one.principal} " if one.principal else ""
        line = f"{one.difference.value}: {whose}{one.detail}"
        console.print(Text(safe_line(line), style="red"))
        console.print(Text(safe_line(f"    {one.remedy}")))


def _print_holder(one: Holder, console: Console) -> None:
    """Print it in lines: columns would break the id, which is to be copied, in a terminal's 80."""
    can = ", ".join(ability.value for ability in _ordered(one.abilities))
    can += " (under a condition)" if one.conditional else ""
    can += " (some of it denied)" if one.denied else ""
    at = f"container {one.container}" if one.container else _scope(one.scope)
    console.print(Text(safe_line(f"{one.principal}  {one.kind or '?'}  can {can}")))
    console.print(Text(safe_line(f"    {one.role}, at {at}"), style="dim"))


def _ordered(abilities: Sequence[Ability]) -> list[Ability]:
    return sorted(abilities, key=list(Ability).index)


def _scope(scope: str) -> str:
    """Name a scope shortly: the account, its group, its subscription, or above."""
    parts = [part for part in scope.split("/") if part]
    if not parts:
        return "the root"
    if parts[0] == "subscriptions":
        below = {2: "the subscription", 4: f"the group {parts[-1]}"}
        return below.get(len(parts), f"the account {parts[-1]}")
    return f"management group {parts[-1]}"
