"""`sallyport accesses`: requests to the storage of model weights, as the ledger has them."""

import re
from ipaddress import ip_address
from typing import Final

import msgspec

from app.records.ledger import open_ledger
from app.settings.root import Settings
from audit.access.detections.catalogue import DETECTIONS
from audit.ledger.records.frames import FrameKind
from audit.reports.pages import ReportRequest
from audit.reports.tallies.finding_figures import FindingFigures
from cli.findings.run import counted_period
from cli.shared.ledger_documents import find_one, read_kind
from core.base.errors import SettingsError
from core.weights.documents.access import Access, Act, SignedBy, decode_access
from core.weights.documents.events import Finding, decode_finding

FORMAT: Final = 1
"""Of `-o json`."""

_WHOLE_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class AccessFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which accesses are asked for; what is empty means all."""

    store: str = ""
    who: str = ""
    address: str = ""
    acts: frozenset[Act] = frozenset()
    signed_by: frozenset[SignedBy] = frozenset()
    ungranted: bool = False
    after: str = ""
    """Id of the last access of the page before."""
    limit: int = 50

    def means(self, access: Access) -> bool:
        """Return whether an access is asked for; `who` may be a human behind its Pods, too."""
        humans = {one.requester for one in access.attribution.pods}
        return (
            access.id > self.after
            and self.store in {"", access.store}
            and (not self.who or self.who == access.who or self.who in humans)
            and self.address in {"", access.address}
            and (not self.acts or access.act in self.acts)
            and (not self.signed_by or access.signed_by in self.signed_by)
            and (not self.ungranted or bool(access.ungranted))
        )


class AccessList(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`sallyport accesses list -o json`."""

    format: int
    accesses: list[Access]
    """The oldest first."""
    next: str
    """What `--after` takes for the next page; empty after the last."""


class ShownAccess(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`sallyport accesses show -o json`."""

    format: int
    access: Access


def check_filter(asked: AccessFilter) -> None:
    """Check what was typed that could match nothing.

    Raises:
        SettingsError: naming the flag.
    """
    if asked.after and not _WHOLE_ID.fullmatch(asked.after):
        raise SettingsError(
            f"--after {asked.after}: give an access's whole id, as the page before ended with it"
        )
    if asked.address:
        try:
            ip_address(asked.address)
        except ValueError:
            raise SettingsError(
                f"--from {asked.address}: give an IP address, as the list shows it"
            ) from None


async def list_accesses(
    settings: Settings, wanted: ReportRequest, asked: AccessFilter, finding_id: str = ""
) -> AccessList:
    """Return accesses of a window, or those that a finding counts.

    Raises:
        SettingsError: there is no such finding, or it counts no accesses.
        LedgerError: there is no ledger, or it does not answer.
    """
    found: list[Access] = []
    async with open_ledger(settings) as store:
        counted = None
        if finding_id:
            finding = await find_one(
                store, FrameKind.FINDING, finding_id, decode_finding, "findings", wanted.cluster
            )
            counted = FindingFigures([finding])
            wanted = ReportRequest(counted_period([finding], counted), cluster=finding.cluster)
            if not counted.is_counted(finding):
                raise SettingsError(f"{finding_id}: {_why_not(finding)}")
        async for access in read_kind(store, wanted, FrameKind.ACCESS, decode_access):
            is_of = counted is None or counted.concerns(access)
            if is_of and asked.means(access):
                found.append(access)
                if len(found) > asked.limit:
                    break
    kept = found[: asked.limit]
    more = kept[-1].id if len(found) > asked.limit else ""
    return AccessList(format=FORMAT, accesses=kept, next=more)


async def show_access(
    settings: Settings, access_id: str, cluster: str | None = None
) -> ShownAccess:
    """Return one access.

    Raises:
        SettingsError: the id is none, or none that the ledger has.
        LedgerError: there is no ledger, or it does not answer.
    """
    async with open_ledger(settings) as store:
        access = await find_one(
            store, FrameKind.ACCESS, access_id, decode_access, "accesses", cluster
        )
    return ShownAccess(format=FORMAT, access=access)


def _why_not(finding: Finding) -> str:
    if any(one.id == finding.detection and one.covers for one in DETECTIONS):
        return "an earlier release found it, and did not say which accesses it is about"
    evidence = ", ".join(finding.evidence)
    return f"it is about no accesses that can be listed; its evidence is {evidence or 'none'}"
