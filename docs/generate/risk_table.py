"""Makes the tables of docs/operate/risk-table.md from the shipped rows.

python -m docs.generate.risk_table [--check]

The text between them is written by hand. With `--check` nothing is written, and the exit code is 1
if the page is stale.
"""

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from core.risk.model import OperationClass, Role, Standing
from identity.risk.shipped_rows import SHIPPED_ROWS
from identity.risk.table import SHIPPED
from identity.risk.table_rows import ALL_OPERATIONS, ALL_ROLES, ALL_STANDINGS

PAGE: Final = Path(__file__).parents[1] / "operate" / "risk-table.md"

_BLOCK: Final = re.compile(r"(<!-- made: ([a-z]+) -->\n).*?(<!-- end -->)", re.DOTALL)

_WHEN: Final[Mapping[Standing, str]] = {
    Standing.CLEAN: "its risk is assessed, lists are complete and fresh, and there is none",
    Standing.LOW: "Entra, or a transmitter of security events, says *low*",
    Standing.MEDIUM: "*medium*",
    Standing.HIGH: "*high*",
    Standing.COMPROMISED: "an administrator confirmed it, or Entra did, whatever the level",
    Standing.HIDDEN: "the tenant has no licence to see it: at risk or not, nobody knows",
    Standing.UNKNOWN: "a level or state that this release does not know, or *at risk* of no level",
    Standing.CONFIRMED_SAFE: "an administrator confirmed it",
    Standing.REMEDIATED: "they proved who they are: another factor, a new password",
    Standing.DISMISSED: "an administrator dismissed the risk",
    Standing.DELETED: "Entra lists it as deleted",
    Standing.REVOKED: "its sessions were revoked less than `identity.revokedForSeconds` ago (90 "
    "minutes: as long as a token from before may live)",
    Standing.MANAGED_IDENTITY: "Entra never assesses one",
    Standing.GUEST: "a guest, whose risk is told in the tenant that they come from: `#EXT#` in the "
    "user name, or listed as one (`identity.guests`)",
    Standing.FOREIGN: "an application of another tenant, or one that signs in to another tenant",
    Standing.OUTSIDE: "none of Entra's: a certificate, another issuer",
    Standing.UNIDENTIFIED: "an application that nobody has looked up yet, that Entra does not "
    "have, or that the Pod hides",
    Standing.STALE: "what is known is older than `identity.maxAgeSeconds` (30 minutes), or nothing "
    "is",
}

_DONE: Final[Mapping[OperationClass, str]] = {
    OperationClass.CREATE_WORKLOAD: "create a Pod or a workload, or change its template",
    OperationClass.EXEC: "exec, attach, port-forward, proxies, ephemeral containers",
    OperationClass.MAKE_CREDENTIALS: "tokens of service accounts, certificates, binding Pods to "
    "nodes",
    OperationClass.CHANGE_RIGHTS: "roles and bindings, profiles, guarded marks of namespaces",
    OperationClass.ASK: "PolicyExceptions, EgressAllowlists, EgressDestinations: without effect "
    "until others approve",
    OperationClass.APPROVE: "Approvals",
    OperationClass.BREAK_GLASS: "write or activate a BreakGlass",
    OperationClass.READ_WEIGHTS: "what can reach model weights: Pods, workloads, shells, tokens",
}

_COUNT_BESIDES: Final[Mapping[OperationClass, tuple[Role, ...]]] = {
    OperationClass.CREATE_WORKLOAD: (Role.AUTHOR, Role.WORKLOAD),
    OperationClass.EXEC: (Role.AUTHOR, Role.WORKLOAD),
    OperationClass.MAKE_CREDENTIALS: (Role.WORKLOAD,),
}
"""Who counts besides who asks: for all else there is neither author nor workload."""


def main() -> int:
    """Write the page, or check it. Gives the exit code."""
    before = PAGE.read_text()
    after = made(before)
    if "--check" in sys.argv:
        if after != before:
            print(f"{PAGE.name} is stale; run: python -m docs.generate.risk_table", file=sys.stderr)
        return int(after != before)
    PAGE.write_text(after)
    return 0


def made(page: str) -> str:
    """Return the page with its tables made anew."""
    blocks: Mapping[str, Callable[[], Iterable[str]]] = {
        "standings": _standings,
        "operations": _operations,
        "matrix": _matrix,
        "rows": _rows,
    }

    def block(match: re.Match[str]) -> str:
        return match[1] + "".join(f"{line}\n" for line in blocks[match[2]]()) + match[3]

    return _BLOCK.sub(block, page)


def _standings() -> Iterable[str]:
    yield "| Standing | When |"
    yield "| --- | --- |"
    for standing in Standing:
        yield f"| `{standing.value}` | {_WHEN[standing]} |"


def _operations() -> Iterable[str]:
    yield "| Operation | What |"
    yield "| --- | --- |"
    for operation in OperationClass:
        yield f"| `{operation.value}` | {_DONE[operation]} |"


def _matrix() -> Iterable[str]:
    yield f"| | {' | '.join(each.value for each in OperationClass)} |"
    yield f"| --- |{' --- |' * len(OperationClass)}"
    for standing in Standing:
        cells = (_cell(standing, operation) for operation in OperationClass)
        yield f"| `{standing.value}` | {' | '.join(cells)} |"


def _cell(standing: Standing, operation: OperationClass) -> str:
    """Return the effect for who asks, and those of the others where they differ."""
    asked = SHIPPED.find(standing, operation, "", Role.REQUESTER).effect
    words = [f"**{asked.value}**" if asked.severity else asked.value]
    for role in _COUNT_BESIDES.get(operation, ()):
        effect = SHIPPED.find(standing, operation, "", role).effect
        words += [] if effect is asked else [f"{role.value}: {effect.value}"]
    return "<br>".join(words)


def _rows() -> Iterable[str]:
    yield "| Row | Standings | Operations | Roles | Effect | Why |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for row, why in SHIPPED_ROWS:
        standings = _words((each for each in Standing if each in row.standings), ALL_STANDINGS)
        operations = _words(
            (each for each in OperationClass if each in row.operations), ALL_OPERATIONS
        )
        roles = _words((each for each in Role if each in row.roles), ALL_ROLES)
        cells = (f"`{row.name}`", standings, operations, roles, row.effect.value, why)
        yield f"| {' | '.join(cells)} |"


def _words(
    some: Iterable[Standing | OperationClass | Role],
    every: frozenset[Standing] | frozenset[OperationClass] | frozenset[Role],
) -> str:
    words = [each.value for each in some]
    return "any" if len(words) == len(every) else ", ".join(words)


if __name__ == "__main__":
    sys.exit(main())
