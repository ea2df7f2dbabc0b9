"""Chooses the policy engine that openings are rendered for."""

from collections.abc import Iterable

import msgspec

from core.base.networks import Network
from egress.model.openings import (
    Addresses,
    CompiledAllowlists,
    Name,
    Opening,
    Peer,
    Problem,
    Service,
    opens_nothing,
)
from egress.render import cilium, networkpolicy
from egress.render.target import BOTH_FAMILIES, RenderedNamespace, RenderTarget


def render(meaning: CompiledAllowlists, target: RenderTarget) -> RenderedNamespace:
    """Return the policies of an enrolled namespace, in the words of the target's engine."""
    problems: tuple[Problem, ...] = ()
    if target.engine.ip_families != BOTH_FAMILIES:
        meaning, problems = _only_families(meaning, target)
        dns = msgspec.structs.replace(target.dns, addresses=_kept(target.dns.addresses, target))
        target = msgspec.structs.replace(target, dns=dns)
    by_engine = cilium.render if target.engine.is_cilium else networkpolicy.render
    found = by_engine(meaning, target)
    learns = target.engine.learns_names
    return msgspec.structs.replace(
        found,
        problems=tuple(sorted({*found.problems, *problems})),
        open=tuple(each for each in found.openings if not opens_nothing(each, learns_names=learns)),
    )


def _only_families(
    meaning: CompiledAllowlists, target: RenderTarget
) -> tuple[CompiledAllowlists, tuple[Problem, ...]]:
    """Leave out addresses of a family that the engine does not enforce."""
    openings, problems = [], []
    for opening in meaning.openings:
        kept = _narrowed(opening, target)
        if kept is None:
            families = " and ".join(target.engine.ip_families)
            message = (
                f"all of its addresses are of another family than {families}, which alone the "
                "network enforces (egress.ipFamilies): it stays closed"
            )
            problems.append(Problem(opening.allowlist, opening.path, "CannotSay", message))
        else:
            openings.append(kept)
    return msgspec.structs.replace(meaning, openings=tuple(openings)), tuple(problems)


def _narrowed(opening: Opening, target: RenderTarget) -> Opening | None:
    """Return an opening without these addresses; None where it had no others."""
    peer: Peer | None
    match opening.peer:
        case Addresses(blocks):
            left = tuple(each for each in blocks if _kept((each.network,), target))
            peer = Addresses(left) if left else None
        case Name(_, addresses, pinned) if addresses:
            some = _kept(addresses, target)
            is_lost = not some and (pinned or not target.engine.learns_names)
            peer = None if is_lost else msgspec.structs.replace(opening.peer, addresses=some)
        case Service(backends=backends):
            found = (
                msgspec.structs.replace(each, addresses=_kept(each.addresses, target))
                for each in backends
            )
            left_there = tuple(each for each in found if each.addresses)
            is_lost = bool(backends) and not left_there
            peer = None if is_lost else msgspec.structs.replace(opening.peer, backends=left_there)
        case _:
            peer = opening.peer
    return None if peer is None else msgspec.structs.replace(opening, peer=peer)


def _kept(networks: Iterable[Network], target: RenderTarget) -> tuple[Network, ...]:
    families = target.engine.ip_families
    return tuple(each for each in networks if f"IPv{each.version}" in families)
