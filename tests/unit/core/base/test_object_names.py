"""The names that Sallyport puts on objects are names that Kubernetes accepts."""

import re

import pytest

from core.base import names

OURS = [names.MODE_LABEL, names.CEILING_ANNOTATION, names.PROFILE_ANNOTATION]
QUALIFIED = re.compile(
    r"(?=.{1,253}/)[a-z0-9]([a-z0-9.-]*[a-z0-9])?/[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
)


@pytest.mark.parametrize("name", OURS)
def test_labels_and_annotations_are_qualified_by_the_group(name: str) -> None:
    """Everything added to objects of others is `sallyport.dev/…`."""
    assert QUALIFIED.fullmatch(name)
    assert name.partition("/")[0] == names.GROUP == "sallyport.dev"


def test_names_are_told_apart() -> None:
    """No two marks share a name."""
    assert len(set(OURS)) == len(OURS)


def test_api_version_is_of_the_group() -> None:
    """Manifests write `sallyport.dev/v1alpha1`."""
    assert names.API_VERSION == "sallyport.dev/v1alpha1"
