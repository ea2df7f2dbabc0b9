"""Reading a ContainerProfile: what is wrong with it is said with the field's path."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InvalidObjectError
from core.profiles.container_profiles import (
    CATALOGUE,
    ContainerProfile,
    ProfileSpec,
    Relaxation,
    parse_newer_profile,
    parse_profile,
    parse_version,
)
from core.profiles.defaults import Defaults

GOOD: dict[str, Any] = {
    "apiVersion": "sallyport.dev/v1alpha1",
    "kind": "ContainerProfile",
    "metadata": {"name": "rdma", "uid": "1", "labels": {"a": "b"}, "managedFields": [{}]},
    "spec": {
        "description": "RDMA.",
        "rank": 150,
        "catalogue": 1,
        "includes": ["pss-restricted"],
        "privileges": ["capability/IPC_LOCK", "volume/hostPath:ro/**"],
        "relaxations": [{"minimumVersion": "1.35", "privileges": ["run-as/root"]}],
    },
}

MINIMUM = "spec.relaxations[0].minimumVersion"

DROP = object()
"""In the table below: the field is taken out."""


def changed(path: str, value: object) -> bytes:
    """Return GOOD as JSON with one field set, or taken out."""
    profile = copy.deepcopy(GOOD)
    *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    target: Any = profile
    for part in parents:
        target = target[part]
    if value is DROP:
        del target[last]
    else:
        target[last] = value
    return json.dumps(profile).encode()


def test_whole_profile_is_read() -> None:
    """Every field of the spec arrives; what Kubernetes adds to metadata is left alone."""
    assert parse_profile(json.dumps(GOOD).encode()) == ContainerProfile(
        "rdma",
        ProfileSpec(
            privileges=["capability/IPC_LOCK", "volume/hostPath:ro/**"],
            rank=150,
            catalogue=1,
            description="RDMA.",
            includes=["pss-restricted"],
            relaxations=[Relaxation("1.35", ["run-as/root"])],
        ),
    )


@pytest.mark.parametrize("path", ["spec.description", "spec.includes", "spec.relaxations"])
def test_optional_fields_may_be_absent(path: str) -> None:
    """What has a default need not be written."""
    parse_profile(changed(path, DROP))


@pytest.mark.parametrize(
    ("path", "value", "stored"),
    [
        ("spec.description", None, ""),
        ("spec.includes", None, []),
        ("spec.relaxations", None, []),
        ("spec.rank", 5.0, 5),
        ("spec.catalogue", 1.0, 1),
    ],
)
def test_what_kube_apiserver_stores_otherwise_is_read_as_stored(
    path: str, value: object, stored: object
) -> None:
    """No null in an optional field, and 5 for 5.0: a file is read as a cluster would keep it."""
    spec = parse_profile(changed(path, value)).spec
    assert getattr(spec, path.removeprefix("spec.")) == stored


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("spec.rank", 0),
        ("spec.rank", 1000),
        ("spec.privileges", []),
        ("spec.privileges", ["a"] * 512),
        ("spec.privileges.0", "a" * 1024),
        ("spec.includes", ["a"] * 32),
        ("spec.includes.0", "a" * 253),
        ("spec.includes.0", "team-a.example"),
        ("spec.relaxations.0.minimumVersion", "v1.36.3"),
    ],
)
def test_values_at_the_bounds_are_accepted(path: str, value: object) -> None:
    """The largest and the smallest that the CRD allows."""
    parse_profile(changed(path, value))


@pytest.mark.parametrize(
    ("path", "value", "field", "problem"),
    [
        ("apiVersion", "sallyport.dev/v1", "apiVersion", "must be sallyport.dev/v1alpha1"),
        ("kind", "Profile", "kind", "'Profile' must be ContainerProfile"),
        ("apiVersion", DROP, "", "missing required field `apiVersion`"),
        ("kind", DROP, "", "missing required field `kind`"),
        ("spec", DROP, "", "missing required field `spec`"),
        ("spec", [], "spec", "Expected `object`, got `array`"),
        ("spec.rank", DROP, "spec", "missing required field `rank`"),
        ("spec.rank", "9", "spec.rank", "Expected `int`, got `str`"),
        ("spec.rank", 1.5, "spec.rank", "Expected `int`, got `float`"),
        ("spec.rank", -1, "spec.rank", "-1 must be 0 to 1000"),
        ("spec.rank", 1001, "spec.rank", "1001 must be 0 to 1000"),
        ("spec.catalogue", DROP, "spec", "missing required field `catalogue`"),
        ("spec.catalogue", 0, "spec.catalogue", "0 must be 1 to 4 in this release"),
        ("spec.catalogue", 5, "spec.catalogue", "5 must be 1 to 4 in this release"),
        ("spec.privileges", DROP, "spec", "missing required field `privileges`"),
        ("spec.privileges", "**", "spec.privileges", "Expected `array`, got `str`"),
        ("spec.privileges", ["a"] * 513, "spec.privileges", "length <= 512"),
        ("spec.privileges.1", None, "spec.privileges[1]", "Expected `str`, got `null`"),
        ("spec.privileges.1", "host/", "spec.privileges[1]", "'host/': segment ''"),
        ("spec.privileges.0", "**/x", "spec.privileges[0]", "may only stand last"),
        ("spec.privileges.0", "a" * 1025, "spec.privileges[0]", "length <= 1024"),
        ("spec.privileges.0", "a/..", "spec.privileges[0]", "segment '..'"),
        ("spec.description", 1, "spec.description", "Expected `str`, got `int`"),
        ("spec.description", "a" * 1025, "spec.description", "length <= 1024"),
        ("spec.includes.0", "A", "spec.includes[0]", "'A' cannot be the name"),
        ("spec.includes.0", "", "spec.includes[0]", "'' cannot be the name"),
        ("spec.includes.0", "a\n", "spec.includes[0]", "cannot be the name"),
        ("spec.includes.0", "a" * 254, "spec.includes[0]", "length <= 253"),
        ("spec.includes", ["a"] * 33, "spec.includes", "length <= 32"),
        ("spec.relaxations.0.minimumVersion", "1", MINIMUM, "1"),
        ("spec.relaxations.0.minimumVersion", "latest", MINIMUM, "'latest' is no version"),
        ("spec.relaxations.0.minimumVersion", 1.35, MINIMUM, "Expected `str`, got `float`"),
        ("spec.relaxations.0.privileges.0", "", "spec.relaxations[0].privileges[0]", "segment"),
        ("spec.relaxations.0.versions", "1", "spec.relaxations[0]", "unknown field `versions`"),
        ("spec.priviliges", [], "spec", "unknown field `priviliges`"),
        ("status", {}, "", "unknown field `status`"),
    ],
)
def test_broken_profile_is_refused_with_its_name_and_the_field(
    path: str, value: object, field: str, problem: str
) -> None:
    """Nothing is guessed or ignored: a slip of the pen is refused, and named by its path."""
    with pytest.raises(InvalidObjectError) as refused:
        parse_profile(changed(path, value))
    assert (refused.value.what, refused.value.field) == ("ContainerProfile rdma", field)
    assert problem in refused.value.problem


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        (b"", ""),
        (b"[]", ""),
        (b"{", ""),
        (b'{"metadata": {}}', "metadata"),
        (b'{"metadata": {"name": 1}}', "metadata.name"),
    ],
)
def test_what_has_no_name_is_refused_as_a_profile(raw: bytes, field: str) -> None:
    """Without a name to go by, the message names the kind."""
    with pytest.raises(InvalidObjectError) as refused:
        parse_profile(raw)
    assert (refused.value.what, refused.value.field) == ("ContainerProfile", field)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("1.36", (1, 36)),
        ("v1.36", (1, 36)),
        ("v1.36.3", (1, 36)),
        ("1.36+", (1, 36)),
        ("v1.30.0-gke.100", (1, 30)),
        ("1.36.3+k3s1", (1, 36)),
        ("10.0", (10, 0)),
    ],
)
def test_versions_are_read_as_clusters_and_people_write_them(
    text: str, version: tuple[int, int]
) -> None:
    """Major and minor count; the rest is the distribution's."""
    assert parse_version(text, field="version", what="cluster") == version


@pytest.mark.parametrize(
    "text",
    ["", "1", "1.", ".36", "v", "1.x", "-1.2", "1 .2", "1.36\n", "１.36", "1.36-beta", "9" * 99],
)
def test_what_is_no_version_is_refused(text: str) -> None:
    """The message names the field and what a version looks like."""
    with pytest.raises(InvalidObjectError) as refused:
        parse_version(text, field="minimumVersion", what="ContainerProfile a")
    message = f'ContainerProfile a: minimumVersion: {text!r} is no version such as "1.36"'
    assert str(refused.value) == message


@given(raw=st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_bytes_are_a_profile_or_an_error_of_ours(raw: bytes) -> None:
    """A broken object is never another exception, which would end the watch."""
    with pytest.raises(InvalidObjectError):
        parse_profile(raw)


def test_a_profile_of_the_next_release_is_read_as_far_as_it_is_known() -> None:
    """While gates are replaced the older ones go on, without what they cannot fill in."""
    newer = json.loads(changed("spec.catalogue", CATALOGUE + 1))
    newer["spec"]["defaults"] = {"allowPrivilegeEscalation": False, "novel": ["a"]}
    newer["spec"]["privileges"].append("novel/privilege")
    read = parse_newer_profile(json.dumps(newer).encode())
    assert read is not None
    assert read.spec.catalogue == CATALOGUE
    assert read.spec.defaults == Defaults(allow_privilege_escalation=False)
    assert "novel/privilege" in read.spec.privileges
    assert "capability/IPC_LOCK" in read.spec.privileges


@pytest.mark.parametrize(
    ("path", "value"), [("spec.novel", True), ("spec.privileges", ["("]), ("spec.rank", "x")]
)
def test_of_the_next_release_too_what_is_broken_is_refused(path: str, value: object) -> None:
    """A new field of `spec` may narrow what the profile gives: nobody may leave it out."""
    newer = json.loads(changed(path, value))
    newer["spec"]["catalogue"] = CATALOGUE + 1
    with pytest.raises(InvalidObjectError):
        parse_newer_profile(json.dumps(newer).encode())


@pytest.mark.parametrize(
    "raw", [b"", b"[]", changed("spec.catalogue", CATALOGUE + 2), changed("spec.rank", 1)]
)
def test_other_profiles_are_none_of_the_next_release(raw: bytes) -> None:
    """They are read, or refused, as ever."""
    assert parse_newer_profile(raw) is None
