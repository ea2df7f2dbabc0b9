"""A profile that an author or a namespace names is the only one by which a Pod is judged."""

from typing import Any

import pytest

from core.decision.decision import Action, Finding, Verdict
from core.people.subject import Subject
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.world import ADMIN, ALICE, Folder, decide, pod, request, rules

PATH = "metadata.annotations[sallyport.dev/profile]"
ON_NAMESPACE = f"{PATH} of Namespace train"


@pytest.fixture
def profiles(folder: Folder) -> Folder:
    """Profiles net (which researchers may use) and open (which they may not)."""
    folder.profile("net", 20, "host/network").profile("open", 30, "**")
    return folder.grant("Group:researchers", "net")


def naming(name: str, **spec: Any) -> dict[str, Any]:
    """Return a Pod that names a profile."""
    return pod(annotations={"sallyport.dev/profile": name}, **spec)


@pytest.mark.parametrize(
    ("name", "subject"),
    [("net", ALICE), ("open", ADMIN), ("pss-privileged", ADMIN)],
)
async def test_named_profile_is_taken(
    engine: EmbeddedEngine, profiles: Folder, name: str, subject: Subject
) -> None:
    """It exists, may be used and covers: that it is not the lowest does not matter."""
    decision = await decide(
        profiles.cluster(), engine, request(naming(name, hostNetwork=True), subject)
    )
    assert (decision.verdict, decision.profile) == (Verdict.ALLOW, name)


@pytest.mark.parametrize("subject", [ALICE, ADMIN])
async def test_unknown_profile_is_refused(
    engine: EmbeddedEngine, profiles: Folder, subject: Subject
) -> None:
    """No other is taken in its place, though the Pod needs nothing."""
    decision = await decide(profiles.cluster(), engine, request(naming("gone"), subject))
    assert decision.verdict is Verdict.DENY
    assert decision.profile is None
    assert decision.findings == [
        Finding(
            "profiles/named",
            Action.DENY,
            PATH,
            "there is no ContainerProfile gone",
            "Name a profile that exists, or none.",
        )
    ]


@pytest.mark.parametrize("subject", [ALICE, ADMIN])
async def test_profile_outside_the_ceiling_is_refused(
    engine: EmbeddedEngine, profiles: Folder, subject: Subject
) -> None:
    """No right exceeds the ceiling, system:masters' included."""
    profiles.namespace("train", ceiling="pss-restricted")
    made = naming("net", hostNetwork=True)
    decision = await decide(profiles.cluster(), engine, request(made, subject))
    assert decision.verdict is Verdict.DENY
    assert decision.findings == [
        Finding(
            "profiles/named",
            Action.DENY,
            PATH,
            "the ceiling of this namespace leaves out the profile net",
            "Name a profile within the ceiling, or none.",
        )
    ]


async def test_profile_that_may_not_be_used_is_refused(
    engine: EmbeddedEngine, profiles: Folder
) -> None:
    """Though another that may be used would cover the Pod."""
    made = naming("open", hostNetwork=True)
    decision = await decide(profiles.cluster(), engine, request(made))
    assert decision.verdict is Verdict.DENY
    assert decision.findings == [
        Finding(
            "profiles/named",
            Action.DENY,
            PATH,
            "you may not use the profile open here",
            "Name another profile, or ask for the right to use open.",
        )
    ]


async def test_profile_that_does_not_cover_is_refused_with_what_it_lacks(
    engine: EmbeddedEngine, profiles: Folder
) -> None:
    """Only the gaps are findings."""
    made = naming("net", hostNetwork=True, hostPID=True)
    decision = await decide(profiles.cluster(), engine, request(made))
    assert (decision.verdict, decision.profile) == (Verdict.DENY, "net")
    assert rules(decision) == [("privileges/host/pid", "host/pid")]
    first = decision.message.splitlines()[0]
    assert first == ("Pod train/llama-0: The profile net does not cover 1 privilege that it needs.")


@pytest.mark.parametrize(
    ("name", "verdict", "path"),
    [
        ("net", Verdict.ALLOW, None),
        ("open", Verdict.DENY, ON_NAMESPACE),
        ("gone", Verdict.DENY, ON_NAMESPACE),
        ("pss-restricted", Verdict.DENY, "spec.hostNetwork"),
    ],
)
async def test_namespace_names_a_profile_for_all(
    engine: EmbeddedEngine, profiles: Folder, name: str, verdict: Verdict, path: str | None
) -> None:
    """It counts as if each Pod named it; a finding says that the namespace did."""
    profiles.namespace("train", profile=name)
    decision = await decide(profiles.cluster(), engine, request(pod(hostNetwork=True)))
    assert decision.verdict is verdict
    assert [finding.path for finding in decision.findings] == ([path] if path else [])


async def test_pods_own_word_goes_before_its_namespaces(
    engine: EmbeddedEngine, profiles: Folder
) -> None:
    """The author may name another, for which the same rights are asked."""
    profiles.namespace("train", profile="pss-restricted")
    made = naming("net", hostNetwork=True)
    assert (await decide(profiles.cluster(), engine, request(made))).profile == "net"


async def test_empty_word_names_nothing(engine: EmbeddedEngine, profiles: Folder) -> None:
    """As if the annotation were not there."""
    decision = await decide(profiles.cluster(), engine, request(naming("", hostNetwork=True)))
    assert (decision.verdict, decision.profile) == (Verdict.ALLOW, "net")


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("net", Verdict.ALLOW),
        ("open", Verdict.ALLOW),
        ("pss-restricted", Verdict.DENY),
        ("gone", Verdict.DENY),
    ],
)
async def test_asked_profile_counts_whoever_asks(
    engine: EmbeddedEngine, profiles: Folder, name: str, verdict: Verdict
) -> None:
    """`sallyport review --profile`: by that alone, without rights, ceiling or annotations."""
    profiles.namespace("train", ceiling="pss-restricted", profile="gone")
    asked = request(naming("gone", hostNetwork=True), Subject("nobody"), asked_profile=name)
    decision = await decide(profiles.cluster(), engine, asked)
    assert decision.verdict is verdict
