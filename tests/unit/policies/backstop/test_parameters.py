"""What the back-stop knows: profiles, modes, controllers, exceptions and open BreakGlasses."""

import datetime as dt
from typing import Any

import msgspec

from core.approvals.break_glass import BreakGlass, parse_break_glass
from core.approvals.exceptions import PolicyException, parse_exception
from core.decision.namespaces import Mode, Modes
from core.profiles.container_profiles import Profile, ProfileSet
from core.profiles.privileges import PatternSet
from policies.backstop.parameters import (
    CLOCKS_S,
    MOST_BYTES,
    MOST_EXCUSES,
    MOST_OF_PROFILES,
    BackstopInputs,
    build_parameters,
)

NOW = dt.datetime(2026, 11, 22, 12, tzinfo=dt.UTC).timestamp()


def known(*profiles: Profile, **more: Any) -> BackstopInputs:
    """Return what is known of a cluster with some profiles."""
    given: dict[str, Any] = {"modes": Modes(), "controllers": {}} | more
    return BackstopInputs(profiles=ProfileSet("r", profiles), **given)


def profile(name: str, *patterns: str, catalogue: int = 3) -> Profile:
    """Return a profile."""
    return Profile(name, 1, PatternSet(patterns), catalogue)


def exception(name: str = "e", namespace: str = "train", **spec: Any) -> PolicyException:
    """Return an exception for the Pod `llama` that ends in an hour."""
    fields = {
        "workloads": [{"apiVersion": "v1", "kind": "Pod", "name": "llama"}],
        "excuses": [{"privilege": "host/network"}],
        "reason": "r",
        "expiresAt": "2026-11-22T13:00:00Z",
    }
    return parse_exception(_written("PolicyException", name, fields | spec, namespace=namespace))


def glass(**spec: Any) -> BreakGlass:
    """Return a BreakGlass that was opened at noon, for an hour."""
    fields = {"namespaces": ["train"], "hours": 1, "reason": "r", "activated": True}
    annotations = {"sallyport.dev/activated-at": "2026-11-22T12:00:00Z"}
    return parse_break_glass(_written("BreakGlass", "g", fields | spec, annotations=annotations))


def _written(kind: str, name: str, spec: dict[str, Any], **metadata: Any) -> bytes:
    return msgspec.json.encode(
        {
            "apiVersion": "sallyport.dev/v1alpha1",
            "kind": kind,
            "metadata": {"name": name, "uid": "u", **metadata},
            "spec": spec,
        }
    )


def test_profiles_are_listed_in_their_order_with_what_matters() -> None:
    """One that covers nothing that is held is left out; `**` covers everything."""
    found = build_parameters(
        known(
            profile("logs", "volume/hostPath:ro/var/log", "image/from/**"),
            profile("plain", "image/from/**", "run-as/root"),
            profile("all", "**"),
        ),
        NOW,
    )
    assert found.data["profiles"] == "logs\tvolume/hostPath:ro/var/log\nall\t"
    assert (found.profiles, found.vague) == (2, 1)


def test_what_a_catalogue_did_not_know_counts_as_covered() -> None:
    """The gate only warns of it."""
    old = known(profile("old", catalogue=1), since={"privileges/host/pid": 2})
    assert build_parameters(old, NOW).data["profiles"] == "old\thost/pid"


def test_what_does_not_fit_counts_as_covering_everything() -> None:
    """The longest first: CEL pays for each character."""
    long = [profile(f"p{i}", *(f"capability/{i:x<250}{j}" for j in range(9))) for i in range(8)]
    found = build_parameters(known(profile("short", "host/pid"), *long), NOW)
    texts = dict(line.split("\t") for line in found.data["profiles"].split("\n"))
    assert texts["short"] == "host/pid"
    assert sum(map(len, texts.values())) <= MOST_OF_PROFILES
    assert found.vague == sum(not text for text in texts.values()) > 0


def test_modes_are_said() -> None:
    """With the time from which namespaces are new, where there is one."""
    assert build_parameters(known(), NOW).data | {"newMode": "", "newSince": ""} == {
        "format": "1",
        "profiles": "",
        "controllers": "",
        "defaultMode": "enforce",
        "leastMode": "audit",
        "newMode": "",
        "newSince": "",
    }
    new = Modes(
        default=Mode.WARN, new=Mode.ENFORCE, new_since=dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    )
    data = build_parameters(known(modes=new), NOW).data
    assert (data["newMode"], data["newSince"]) == ("enforce", "2026-01-01T00:00:00Z")


def test_controllers_are_listed_with_their_kinds() -> None:
    """As owner references spell them."""
    kinds = {"system:x": frozenset({("apps", "ReplicaSet"), ("", "ReplicationController")})}
    found = build_parameters(known(controllers=kinds), NOW).data["controllers"]
    assert found == "system:x\tReplicationController.\nsystem:x\tReplicaSet.apps"


def test_exceptions_are_there_a_little_longer_than_they_count() -> None:
    """By the name of the Pod, or for whatever a controller makes; then they are gone."""
    excuses = [
        {"privilege": "capability/SYS_ADMIN", "container": "main"},
        {"privilege": "image/unpinned", "container": "main"},
        {"rule": "rules/runtime/annotations", "value": "x"},
    ]
    job = [{"apiVersion": "batch/v1", "kind": "Job", "name": "llama"}]
    both = (exception(), exception("f", workloads=job, excuses=excuses))
    end = both[0].expires
    data = build_parameters(known(exceptions=both), end + CLOCKS_S - 1).data
    assert data["excuses.train"] == "\tcapability/SYS_ADMIN@main\nllama\thost/network@"
    assert "excuses.train" not in build_parameters(known(exceptions=both), end + CLOCKS_S).data


def test_too_many_exceptions_excuse_everything_of_their_namespace() -> None:
    """Refusing what is excused would be worse."""
    many = tuple(
        exception(f"e{i}", workloads=[{"apiVersion": "v1", "kind": "Pod", "name": f"p{i}"}])
        for i in range(MOST_EXCUSES + 1)
    )
    assert build_parameters(known(exceptions=many), NOW).data["excuses.train"] == "*"


def test_the_configmap_never_grows_too_large() -> None:
    """The namespaces with most are said in a word."""
    excuses = [{"privilege": f"capability/{'x' * 150}{i}"} for i in range(32)]
    many = tuple(
        exception(
            f"e{i}",
            f"ns{i // 30}",
            excuses=excuses,
            workloads=[{"apiVersion": "v1", "kind": "Pod", "name": f"p{i}"}],
        )
        for i in range(300)
    )
    data = build_parameters(known(exceptions=many), NOW).data
    assert sum(len(key) + len(text) for key, text in data.items()) <= MOST_BYTES
    assert {text for key, text in data.items() if key.startswith("excuses.")} > {"*"}


def test_backstop_parameters_relax_only_while_a_break_glass_is_open() -> None:
    """By rules, by patterns, or everything; not while it is sealed, nor afterwards."""
    rules = ["privileges/host/pid", "rules/runtime/annotations"]
    one = glass(rules=rules, privileges=["capability/*", "image/unpinned"])
    data = build_parameters(known(break_glasses=(one,)), NOW).data
    assert data["glass.train"] == "capability/[^/@]+|host/pid"
    everything = glass(rules=["*"])
    assert build_parameters(known(break_glasses=(everything,)), NOW).data["glass.train"] == "[^@]*"
    for when in (one.ends + CLOCKS_S, NOW - CLOCKS_S - 1):
        assert "glass.train" not in build_parameters(known(break_glasses=(one,)), when).data
