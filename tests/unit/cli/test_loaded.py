"""A command loads what it needs: not what a cluster, a ledger or another command needs."""

import subprocess
import sys

import pytest

from tests.harness.evidence import ROOT

LOADED = """
import sys
from cli.main import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
sys.stderr.write(" ".join({name.partition(".")[0] for name in sys.modules}))
"""
POD = str(ROOT / "examples" / "pods" / "first-denial.yaml")
SERVERS = {"aiokafka", "alembic", "jinja2", "msal", "sqlalchemy", "starlette", "uvicorn"}
CLUSTERS = {"aiohttp", "kubernetes", "opa_client", "requests"}


@pytest.mark.parametrize(
    ("arguments", "left_out"),
    [
        (("--help",), SERVERS | CLUSTERS | {"asyncio", "pydantic", "structlog", "yaml"}),
        (("review", "--help"), SERVERS | CLUSTERS | {"asyncio", "structlog", "yaml"}),
        (("review", POD), SERVERS | CLUSTERS | {"cryptography", "prometheus_client"}),
    ],
)
def test_what_a_command_does_not_need_is_not_loaded(
    arguments: tuple[str, ...], left_out: set[str]
) -> None:
    """Its modules, and those of what it is made of, are all that is read."""
    command = [sys.executable, "-c", LOADED, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    loaded = set(done.stderr.split())
    assert {"cli", "typer"} <= loaded
    assert loaded & left_out == set()
