"""Programs that tests cannot do without: skipped aloud on a laptop, failed in CI."""

import os
from pathlib import Path
from typing import NoReturn

import pytest

from tests.tools.provide import CannotProvideError, provide


def require(program: str) -> Path:
    """Return a program's path; without it see `skip_or_fail`."""
    try:
        return provide(program)
    except CannotProvideError as error:
        skip_or_fail(error)


def skip_or_fail(error: CannotProvideError) -> NoReturn:
    """Skip the test for want of a program, saying which; where CI is true, fail it."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"NOT TESTED: {error}")
    pytest.skip(f"NOT TESTED: {error}")
