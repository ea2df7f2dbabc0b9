"""`sallyport report --publish`: a report's OpenReports objects in a real cluster."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from cli.report.openreports import publish
from core.base.errors import ClusterError
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client, Json
from tests.harness.published.openreports import API_VERSION, install_crds
from tests.unit.audit.reports.records import (
    access,
    at,
    finding,
    report_of,
    something_of_everything,
)

PROGRAM = Path(sys.executable).parent / "sallyport"
NAMESPACE = "report-published"


async def run(folder: Path, kubeconfig: Path, name: str) -> tuple[int, str]:
    """Run the command on a ledger of the folder; give exit code and what it said."""
    flags = ("--period", "2026-05", "--format", "json", "--to", folder, "--publish")
    process = await asyncio.create_subprocess_exec(
        *(PROGRAM, "report", *flags, "--ledger", f"sqlite:///{folder / name}"),
        *("--kubeconfig", kubeconfig),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={key: value for key, value in os.environ.items() if not key.startswith("SALLYPORT_")},
    )
    said, _ = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode is not None
    return process.returncode, said.decode()


async def found(client: Client, path: str) -> Json:
    """Return an object of OpenReports."""
    status, answer = await client.request("GET", f"/apis/{API_VERSION}/{path}/sallyport-weights")
    assert status == 200, answer
    return answer


async def test_report_stands_in_the_cluster_and_the_next_one_in_its_place(
    apiserver: ApiServer, client: Client, tmp_path: Path
) -> None:
    """One of the cluster and one of each namespace with findings; nobody is named in them.

    Without the CRDs it is said what is missing, and no report is half written.
    """
    kubeconfig = apiserver.kubeconfig()
    pods = finding(at(10, 3), 9, pods=[f"{NAMESPACE}/run-0"])
    first = await report_of(tmp_path / "first.db", iter([*something_of_everything(), pods]))
    _, served = await client.request("GET", f"/apis/{API_VERSION}")
    if served.get("kind") != "APIResourceList":
        with pytest.raises(ClusterError, match="has no OpenReports: install its CRDs"):
            await publish(first, kubeconfig)
    await install_crds(client)
    await client.create_namespace(NAMESPACE)

    assert await publish(first, kubeconfig) == 2
    whole = await found(client, "clusterreports")
    of_namespace = await found(client, f"namespaces/{NAMESPACE}/reports")
    assert whole["summary"] == {"pass": 0, "warn": 1, "fail": 3, "error": 0, "skip": 0}
    assert [one["rule"] for one in of_namespace["results"]] == ["weights/key-or-anonymous-read"]
    assert "oid:" not in str(whole["results"]) + str(of_namespace["results"])

    await report_of(tmp_path / "second.db", iter([access(at(2))]))
    code, said = await run(tmp_path, kubeconfig, "second.db")
    assert (code, "1 OpenReports objects written into the cluster" in said) == (0, True), said
    again = await found(client, "clusterreports")
    assert again["metadata"]["uid"] == whole["metadata"]["uid"]
    assert [one["rule"] for one in again["results"]] == ["weights/completeness"]
