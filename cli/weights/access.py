"""`sallyport weights access`: who can open the weights by Azure's rules, and what differs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from rich.console import Console
from rich.text import Text

from cli import exits
from core.base.errors import ClusterError, SettingsError
from core.safe_text import safe_line
from core.weights.store_access import Ability, Holder, StoreAccess
from kube.client.objects import open_objects
from kube.weights.store_access import read_accesses

FORMAT: Final = 1
"""Version of what programs read."""


class Accesses(msgspec.Struct, frozen=True, kw_only=True):
    """What `-o json` prints."""

    format: int = FORMAT
    stores: list[StoreAccess]


async def find_accesses(kubeconfig: Path | None, namespace: str, store: str | None) -> Accesses:
    """Return what control last read, of all stores or of one.

    Raises:
        SettingsError: nothing was read of this store.
        ClusterError: kube-apiserver does not answer, or refuses; or nothing was read at all.
        InvalidObjectError: what is stored cannot be read.
    """
    async with open_objects(kubeconfig) as objects:
        found = await read_accesses(objects, namespace)
    if found is None:
        message = (
            f"namespace {namespace}: nothing was read from Azure yet: set weights.azure.enabled "
            "and give each WeightStore its resourceId, or name the namespace (SALLYPORT_NAMESPACE)"
        )
        raise ClusterError(message)
    if store is not None:
        found = [one for one in found if one.store == store]
        if not found:
            text = f"{store}: no such WeightStore was read from Azure; has it a resourceId?"
            raise SettingsError(text)
    return Accesses(stores=found)


def exit_code(found: Accesses) -> int:
    """Return the exit code: 1 where something differs, 2 where not all could be read."""
    if any(one.gaps for one in found.stores):
        return exits.NOT_JUDGED
    return exits.REFUSED if any(one.differing for one in found.stores) else exits.ADMITTED


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
