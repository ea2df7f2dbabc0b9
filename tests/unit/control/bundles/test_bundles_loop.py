"""Who is waited for before a bundle is activated."""

import math
import time

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from control.bundles.activation import BundleActivation, GateRollout, rollout_of
from core.base.errors import InvalidObjectError
from core.policy_bundles import BASE, CONTROL, BundleHead, GateAnnouncement
from kube.bundles.store import BundleStore, with_active, with_wanted
from kube.leader.lease import Leadership
from tests.harness.worlds.policy_bundles import retitled, stored
from tests.unit.kube.config_maps import NAMESPACE, Cluster

WANTED = "0123456789ab"
HEAD = BundleHead(turn=3, wanted=WANTED, active=BASE)


def said(
    *loaded: str, refused: dict[str, str] | None = None, turn: int = 3, beat: int = 1
) -> GateAnnouncement:
    """Return what a gate announces."""
    return GateAnnouncement(BASE, "r", loaded, refused or {}, turn, beat)


HAS = said(BASE, WANTED)


@pytest.mark.parametrize(
    ("gate", "expected"),
    [
        (HAS, GateRollout(("gate", "control"))),
        (said(BASE), GateRollout(("control",), ("gate",))),
        (said(BASE, refused={WANTED: "why"}), GateRollout(("control",), (), {"gate": "why"})),
        (said(BASE, refused={WANTED: "why"}, turn=2), GateRollout(("control",), ("gate",))),
        (said(BASE, WANTED, turn=2), GateRollout(("control",), ("gate",))),
        (said(BASE, refused={"another": "why"}), GateRollout(("control",), ("gate",))),
        (GateAnnouncement("", ""), GateRollout(("control",), ("gate",))),
    ],
    ids=[
        "has it",
        "not yet",
        "refuses it",
        "refused it before",
        "had it before",
        "refuses another",
        "cannot be read",
    ],
)
def test_each_gate_has_it_waits_or_refuses(gate: GateAnnouncement, expected: GateRollout) -> None:
    """By what it says of this turn."""
    assert rollout_of(HEAD, {"gate": gate}, HAS) == expected


def test_control_itself_must_have_it() -> None:
    """Its sweeps judge by it."""
    assert rollout_of(HEAD, {"gate": HAS}, said(BASE)) == GateRollout(("gate",), ("control",))


def test_what_was_active_is_kept_to_go_back_to() -> None:
    """One step back; what is active already is not its own past."""
    packed = retitled(1)
    head = BundleHead(bundles=(stored(packed),))
    revision = head.bundles[0].revision
    head = with_active(with_wanted(head, revision), 0.0)
    assert (head.active, head.previous, head.turn) == (revision, BASE, 1)
    assert head.changed == "1970-01-01T00:00:00Z"
    assert with_active(with_wanted(head, revision), 9.0).previous == BASE
    assert with_active(with_wanted(head, BASE), 9.0).previous == revision


def test_only_what_is_published_can_be_wanted() -> None:
    """It is said what is."""
    with pytest.raises(InvalidObjectError, match="is not published here: there are none, and 'ba"):
        with_wanted(BundleHead(), WANTED)


async def test_what_control_itself_refuses_is_said_beside_the_gates() -> None:
    """Else nobody but its log would say why nothing is activated. It is no gate."""
    cluster = Cluster()
    store = BundleStore(cluster, NAMESPACE)  # type: ignore[arg-type]  # As much of it as is used.
    await store.write(await store.read(), HEAD)
    own = [said(BASE, refused={WANTED: "signed by none of its keys"})]
    arguments = (cluster, NAMESPACE, lambda: own[0], CollectorRegistry())
    activating = BundleActivation(*arguments, clock=lambda: 1000.0)  # type: ignore[arg-type]
    leader = Leadership(1, math.inf, time.monotonic)
    await activating.run(leader)
    await store.announce("gate", HAS)
    await activating.run(leader)
    found = await store.gates()
    assert found is not None
    assert found[CONTROL].refused == {WANTED: "signed by none of its keys"}
    assert found[CONTROL].at
    assert (await store.read()).head.active == BASE
    events = [each["message"] for each in cluster.kept.values() if "message" in each]
    assert len(events) == 1
    assert events[0].startswith("control refuses the policy bundle")
    own[0] = msgspec.structs.replace(HAS, beat=2)
    activating._made = -math.inf  # noqa: SLF001 -- gates have had their time to come
    await activating.run(leader)
    assert (await store.read()).head.active == WANTED
