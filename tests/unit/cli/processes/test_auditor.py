"""`sallyport auditor`: what it says when it cannot serve."""

import socket
from pathlib import Path

import pytest

from tests.harness.programs.pki import Authority
from tests.unit.cli.conftest import Run


def test_a_taken_port_is_the_auditors_own_setting(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not that of the webhooks, which is another process's."""
    authority = Authority(tmp_path)
    pair = authority.issue_loopback_server("auditor")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for name, value in {
            "RECEIVE__PORT": taken.getsockname()[1],
            "RECEIVE__CERT": pair.certificate,
            "RECEIVE__KEY": pair.key,
            "RECEIVE__CLIENT_CA": authority.certificate_path,
            "STATUS__PORT": 0,
            "LEDGER__URL": f"sqlite:///{tmp_path / 'ledger.db'}",
        }.items():
            monkeypatch.setenv(f"SALLYPORT_{name}", str(value))
        done = run("auditor")
    assert done.code == 2
    assert "Address already in use" in done.err
    assert "change receive.port (SALLYPORT_RECEIVE__PORT)" in done.err
