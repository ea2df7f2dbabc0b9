"""9: one token used from two addresses, though a token is made for one Pod or person."""

from collections.abc import Sequence
from ipaddress import ip_address
from typing import Final

import msgspec

from audit.access.model.coverage import Coverage, Same, Span
from audit.access.model.detection import HOUR_S, Detection, EventContext, Tunable
from audit.access.model.findings import make_finding, moment_text
from audit.access.model.sightings import LISTED, is_news, network_of, touch
from core.weights.documents.access import Access, Act, Caller, SignedBy
from core.weights.documents.events import Finding, Severity

_MOST: Final = 16_384
_MOST_ADDRESSES: Final = 4


class TokenUse(msgspec.Struct, gc=False, array_like=True):
    """From where a token was used."""

    caller: str
    """`Caller`'s value."""
    pod: str
    """UID, where the access can have come from one alone."""
    node: str
    at: float


class TokenTrail(msgspec.Struct, gc=False, array_like=True):
    """Where one token has been."""

    first: float
    uses: dict[str, TokenUse] = {}


class TokenTwoAddressesState(msgspec.Struct):
    """What this detection remembers."""

    tokens: dict[str, TokenTrail] = {}
    raised: dict[str, int] = {}


def _concerns(access: Access) -> bool:
    return access.signed_by is SignedBy.OAUTH and bool(access.token and access.address)


def _see(access: Access, state: TokenTwoAddressesState, known: EventContext) -> Sequence[Finding]:
    if not _concerns(access):
        return ()
    token = touch(state.tokens, access.token, lambda: TokenTrail(first=known.at), _MOST)
    if known.at > token.first + known.tuned["token_lives_hours"] * HOUR_S:
        token.first, token.uses = known.at, {}
    use = token.uses.get(access.address)
    if use is not None:
        use.at = known.at
        return ()
    pods = access.attribution.pods
    pod = pods[0].uid if len(pods) == 1 else ""
    use = TokenUse(access.caller.value, pod, pods[0].node if pods else "", known.at)
    strange = [
        (address, other)
        for address, other in token.uses.items()
        if not _is_one_place(address, other, access.address, use)
    ]
    if len(token.uses) >= _MOST_ADDRESSES:
        del token.uses[next(iter(token.uses))]
    token.uses[access.address] = use
    if not strange:
        return ()
    return _judge(access, state, known, token, strange[0])


def _judge(
    access: Access,
    state: TokenTwoAddressesState,
    known: EventContext,
    token: TokenTrail,
    other: tuple[str, TokenUse],
) -> Sequence[Finding]:
    address, use = other
    is_inside = access.caller in LISTED and Caller(use.caller) in LISTED
    name = f"{access.token} {moment_text(token.first)}"
    if not is_news(state.raised, name, 1 if is_inside else 2):
        return ()
    return [
        make_finding(
            DETECTION,
            access,
            known,
            (name, str(is_inside)),
            Severity.MEDIUM if is_inside else Severity.HIGH,
            f"One token of {known.who} is used from two addresses",
            f"From {address} ({use.caller}), last at {moment_text(use.at)}, and now from "
            f"{access.address} ({access.caller.value}). The token is known since "
            f"{moment_text(token.first)}. One NAT pool, one node with its Pods, and two addresses "
            "of one Pod were ruled out.",
            first=token.first,
            events=2,
            addresses=[address],
            amount=access.bytes_out,
        )
    ]


def _is_one_place(address: str, use: TokenUse, other: str, now: TokenUse) -> bool:
    """Return whether two addresses can be one place: NAT, two families, a node and its Pods."""
    if use.pod and use.pod == now.pod:
        return True
    if use.caller == now.caller:
        if use.caller == Caller.NODE.value:
            # Overlay networks show the node's address; one node may have several.
            return bool(use.node) and use.node == now.node
        if use.caller != Caller.POD.value and network_of(address) == network_of(other):
            return True
        return use.caller == Caller.NETWORK.value and _families_differ(address, other)
    inside = {Caller.POD.value, Caller.NODE.value}
    if {use.caller, now.caller} == inside:
        # A Pod's own address, and its node's where masquerading begins.
        return not use.node or not now.node or use.node == now.node
    return {use.caller, now.caller} <= inside | {Caller.NETWORK.value}


def _families_differ(address: str, other: str) -> bool:
    try:
        return ip_address(address).version != ip_address(other).version
    except ValueError:
        return False


DETECTION: Final = Detection(
    id="token-two-addresses",
    number=9,
    title="One token used from two addresses",
    about="The hash of a token of Entra ID, seen from an address where it cannot have come from "
    "the Pod or person that it was made for. Quiet are: addresses of one /24 or /48 outside the "
    "cluster (NAT pools), a Pod's address and its node's, a listed network beside the cluster's "
    "own (SNAT), and addresses from which the access is attributed to the same Pod. Medium where "
    "both lie in listed networks, else high.",
    severity=Severity.HIGH,
    techniques=("T1550.001", "T1528", "AML.T0012"),
    needs=("tokenHash in the logs", "the operator's lists of networks"),
    blind=(
        "a token that is used by the thief alone, or from behind the same NAT",
        "overlay networks: all Pods of a node share its address",
        "keys and SAS: they are used from many places by their nature (detection 1)",
    ),
    remedy="Revoke the identity's sessions, find where the token was taken (exec, logs, a debug "
    "container), and bind egress to the private endpoint.",
    bound=f"{_MOST} tokens with {_MOST_ADDRESSES} addresses each, as many findings",
    begin=TokenTwoAddressesState,
    see=_see,
    acts=frozenset({Act.READ, Act.COPY, Act.WRITE}),
    covers={
        "": Coverage(
            _concerns,
            frozenset({Same.WHO, Same.ADDRESS}),
            Span.DAYS,
        )
    },
    tuning=(
        Tunable(
            "token_lives_hours",
            25,
            "hours",
            "a managed identity's token lives 24 hours, and clocks differ; a hash that is seen "
            "later is looked at anew",
        ),
    ),
)
