"""A receiver of HTTPS on loopback, and the folder of a sink's secrets."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.harness.fakes.https_receiver import HttpsReceiver
from tests.harness.programs.pki import Authority


@pytest.fixture(name="authority")
def make_authority(tmp_path: Path) -> Authority:
    """Return the CA that a sink trusts."""
    return Authority(tmp_path)


@pytest.fixture(name="receiver")
async def serve_receiver(authority: Authority) -> AsyncIterator[HttpsReceiver]:
    """Listen on loopback."""
    async with HttpsReceiver().serving(authority) as receiver:
        yield receiver


@pytest.fixture(name="secrets")
def make_secrets(tmp_path: Path) -> Path:
    """Return an empty folder, as an empty Secret is mounted."""
    (tmp_path / "secrets").mkdir()
    return tmp_path / "secrets"
