"""How a request names its object."""

import pytest

from core.decision.request import Kind, Operation, Request
from core.people.subject import Subject


@pytest.mark.parametrize(
    ("kind", "api_version"),
    [
        (Kind("Pod", "v1"), "v1"),
        (Kind("Deployment", "v1", "apps"), "apps/v1"),
        (Kind("ContainerProfile", "v1alpha1", "sallyport.dev"), "sallyport.dev/v1alpha1"),
    ],
)
def test_api_version_is_as_manifests_write_it(kind: Kind, api_version: str) -> None:
    """The core group is left out."""
    assert kind.api_version == api_version


@pytest.mark.parametrize(
    ("namespace", "name", "expected"),
    [
        ("train", "llama-0", "Pod train/llama-0"),
        ("train", "", "Pod train/(unnamed)"),
        ("", "llama-0", "Pod llama-0"),
    ],
)
def test_what_names_the_object_for_a_person(namespace: str, name: str, expected: str) -> None:
    """Kind, namespace and name; an object that is yet to be named is said to be unnamed."""
    request = Request(
        uid="1",
        kind=Kind("Pod", "v1"),
        operation=Operation.CREATE,
        subject=Subject(),
        namespace=namespace,
        name=name,
    )
    assert request.what == expected
