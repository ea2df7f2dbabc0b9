"""Warns authors of what an allowlist, or a set of destinations, may not be meant to open. Pure."""

from collections.abc import Iterator
from typing import Final

from core.base.networks import any_holds, network_of
from core.base.safe_text import printable
from core.base.times import DAY_S
from core.decision.decision import Action, Finding
from core.egress.allowlists import EgressAllowlist, EgressDestinations
from core.egress.destinations import Destination
from core.egress.dns_names import is_wildcard, readable_name
from egress.limits.breadth import breadth_reasons
from egress.limits.settings import IntentSettings
from egress.limits.shared_destinations import name_sharing_warning, tag_sharing_warning
from egress.model.reserved_ranges import ALWAYS_RESERVED

Intent = EgressAllowlist | EgressDestinations

LONG_DAYS: Final = 180

_LINE: Final = 118
"""Longest message: kubectl prints each as one line."""


def intent_warnings(what: Intent, settings: IntentSettings, now: float) -> Iterator[Finding]:
    """Yield what is to be said of an intent by itself."""
    yield from _broad(what, settings)
    for index, entry in enumerate(what.spec.to):
        yield from _of_entry(entry, f"spec.to[{index}]", settings)
    if what.expires is not None and what.expires > now + LONG_DAYS * DAY_S:
        message = f"lies more than {LONG_DAYS} days ahead"
        yield warning_finding(
            "lasting", "spec.expiresAt", message, "Renew it when it is still needed."
        )


def warning_finding(rule: str, path: str, message: str, remedy: str) -> Finding:
    """Return what its author is warned of; the message is cut to one line."""
    room = _LINE - len(path) - 2 if path else _LINE
    return Finding(f"egress/{rule}", Action.WARN, path, printable(message, room), remedy)


def _command(what: Intent) -> str:
    if isinstance(what, EgressAllowlist):
        return f"sallyport approve eal {what.meta.name} -n {what.meta.namespace}"
    return f"sallyport approve eds {what.meta.name}"


def _broad(what: Intent, settings: IntentSettings) -> Iterator[Finding]:
    reasons = breadth_reasons(what.spec.to, settings.limits, settings.tags)
    for reason in reasons:
        remedy = "Narrow it, or have it approved."
        yield warning_finding("broad", "spec.to", reason, remedy)
    if reasons:
        command = _command(what)
        message = f"it opens nothing until two others approve it: {command}"
        if len(message) > _LINE:
            message = "it opens nothing until two others approve it: sallyport approve"
        yield warning_finding("approval", "", message, f"Two others run {command}.")


def _of_entry(entry: Destination, path: str, settings: IntentSettings) -> Iterator[Finding]:
    if entry.dns_name is not None:
        yield from _of_name(entry, entry.dns_name, f"{path}.dnsName", settings)
    if entry.service_tag is not None and (who := tag_sharing_warning(entry.service_tag)):
        remedy = "Use private endpoints, named by dnsName and within."
        yield warning_finding("many-tenants", f"{path}.serviceTag", who, remedy)
    if entry.cidr is not None:
        yield from _of_network(entry.cidr, f"{path}.cidr", settings)


def _of_network(cidr: str, path: str, settings: IntentSettings) -> Iterator[Finding]:
    """Tell what no broader network would open, and this one does."""
    network = network_of(cidr)
    remedy = "Take it away unless these Pods must reach it."
    if any_holds(ALWAYS_RESERVED, network):
        message = f"{cidr} is reserved (metadata, the node itself): this opens it"
        yield warning_finding("reserved", path, message, remedy)
    elif any_holds(settings.ranges, network):
        message = f"{cidr} is the cluster's own (Pods, Services, nodes): this opens it"
        yield warning_finding("reserved", path, message, remedy)


def _of_name(
    entry: Destination, name: str, path: str, settings: IntentSettings
) -> Iterator[Finding]:
    if (plain := readable_name(name)) != name:
        remedy = "Make sure that it is the name you mean: letters can look alike."
        yield warning_finding("punycode", path, f"is read as {plain!a}", remedy)
    if is_wildcard(name) and not settings.knows_names:
        message = "stays closed: the engine here knows no patterns of names"
        yield warning_finding("wildcard", path, message, "Name each host.")
    if entry.within is None and (who := name_sharing_warning(name)):
        yield warning_finding("shared", path, who, "Prefer a private endpoint.")
