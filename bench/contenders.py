"""Who is measured, in one run: Sallyport, a null handler, OPA's server, Kubernetes' own check."""

import asyncio
import os
import shutil
from pathlib import Path
from typing import Final

from bench.contender import Contender
from bench.load import Order
from bench.reviews import GANG, USUAL, Pods
from bench.rig import UNCACHED, Rig, say
from bench.servers import (
    CLIENT_CORE,
    ROOT,
    Server,
    free_port,
    go_check_command,
    null_command,
    opa_command,
)
from tests.harness.apiserver import ApiServer
from tests.harness.client import connect
from tests.harness.process import ServerFailedError
from tests.tools.provide import CannotProvideError, provide

UNCACHED_GATE: Final = "Sallyport"
GANG_GATE: Final = "Sallyport, gang"
NULL: Final = "null handler"
GO_CHECK: Final = "Go check"

ALLOWED: Final = {"compliant": '"allowed":true', "violating": '"allowed":false'}
_ALL: Final = {"compliant": '"allowed":true', "violating": '"allowed":true'}
_NEEDS: Final = {"compliant": "{", "violating": "capability/NET_ADMIN"}

_POD_SECURITY: Final = """\
apiVersion: pod-security.admission.config.k8s.io/v1
kind: PodSecurityConfiguration
defaults: {enforce: restricted, enforce-version: latest}
"""


def contenders(rig: Rig) -> list[Contender]:
    """Start all of them. The Go check is left out, aloud, where it cannot be built."""
    uncached, gang = rig.gate("uncached", UNCACHED), rig.gate("gang")
    found = [
        Contender(UNCACHED_GATE, uncached, validate_order(rig, uncached)),
        Contender(GANG_GATE, gang, validate_order(rig, gang, pods=GANG)),
        null(rig),
        *_opa(rig),
    ]
    go_check = _go_check(rig)
    return [*found, go_check] if go_check else found


def validate_order(
    rig: Rig,
    server: Server,
    *,
    pods: Pods = USUAL,
    connections: int = 16,
    expect: dict[str, str] = ALLOWED,
) -> Order:
    """Return the order of a load on `/validate`."""
    url = f"https://127.0.0.1:{server.port}/validate?timeout=10s"
    return Order(url, str(rig.pair.ca), 0, expect, connections, pods=pods)


def null(rig: Rig) -> Contender:
    """Start the null handler: what HTTP, TLS and JSON cost alone."""
    port = free_port()
    command = null_command(rig.pair.certificate, rig.pair.key, port)
    server = rig.start("null", command, port)
    return Contender(NULL, server, validate_order(rig, server, expect=_ALL))


def _opa(rig: Rig) -> list[Contender]:
    server = start_opa(rig)
    url, ca = f"https://127.0.0.1:{server.port}", str(rig.pair.ca)
    review = Order(f"{url}/v0/data/bench/response", ca, 0, ALLOWED)
    needs = Order(f"{url}/v0/data/sallyport/needs/result", ca, 0, _NEEDS, projected=True)
    return [Contender("OPA, review", server, review), Contender("OPA, projection", server, needs)]


def start_opa(rig: Rig) -> Server:
    """Start OPA's server with the same policies and what a site would write around them."""
    rego, port = stage_rego(rig.folder / "rego"), free_port()
    command = opa_command(provide("opa"), rego, rig.pair.certificate, rig.pair.key, port)
    return rig.start("opa", command, port)


def stage_rego(target: Path) -> Path:
    """Copy the policies and the bench's own Rego into a folder; give it."""
    for folder in (ROOT / "policies" / "rego", ROOT / "bench" / "opa"):
        for path in folder.rglob("*.rego"):
            if not path.stem.endswith("_test"):
                copy = target / folder.name / path.relative_to(folder)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
    return target


def _go_check(rig: Rig) -> Contender | None:
    folder = rig.folder / "apiserver"
    folder.mkdir()
    # What is started here runs on the clients' core: it is not what is measured.
    os.sched_setaffinity(0, {CLIENT_CORE})
    try:
        program = provide("pod-security-webhook")
        apiserver = ApiServer(folder)
    except (CannotProvideError, ServerFailedError) as error:
        say(f"NOT MEASURED: the Go check: {error}")
        return None
    rig.stack.callback(apiserver.stop)
    asyncio.run(_make_namespace(apiserver))
    server = start_go_check(rig, program, apiserver)
    return Contender(GO_CHECK, server, validate_order(rig, server))


async def _make_namespace(apiserver: ApiServer) -> None:
    async with connect(apiserver) as client:
        await client.create_namespace("train")


def start_go_check(rig: Rig, program: Path, apiserver: ApiServer) -> Server:
    """Start Kubernetes' own webhook: it watches the namespaces of `apiserver`."""
    config, port = rig.folder / "pod-security.yaml", free_port()
    config.write_text(_POD_SECURITY)
    flags: list[str | Path] = ["--kubeconfig", apiserver.kubeconfig(), "--config", config]
    command = go_check_command(program, flags, rig.pair.certificate, rig.pair.key, port)
    return rig.start("go-check", command, port)
