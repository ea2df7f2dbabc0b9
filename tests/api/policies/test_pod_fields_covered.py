"""The Pods that verdicts are compared on leave out nothing that Pod Security looks at."""

from pathlib import Path

import pytest

from tests.harness.oracles.pod_security_source import check_files, restricted_fields
from tests.harness.programs.availability import skip_or_fail
from tests.harness.worlds.pods import MUTATIONS, container_mutations
from tests.tools.provide import CannotProvideError


@pytest.fixture(scope="module")
def checks() -> list[Path]:
    """The source of every check."""
    try:
        return check_files()
    except CannotProvideError as error:
        skip_or_fail(error)


def test_every_field_of_every_check_is_changed(checks: list[Path]) -> None:
    """Each field that a check's comment names must have a mutation of that name."""
    ours = {mutation.field for mutation in (*MUTATIONS, *container_mutations("debug"))}
    lacking = {
        file.name: missing
        for file in checks
        if (missing := restricted_fields(file.read_text()) - ours)
    }
    assert lacking == {}


def test_every_check_names_fields(checks: list[Path]) -> None:
    """A check whose comment is not understood must not pass for one that names nothing."""
    silent = [file.name for file in checks if not restricted_fields(file.read_text())]
    assert silent == []
    assert len(checks) >= 18
