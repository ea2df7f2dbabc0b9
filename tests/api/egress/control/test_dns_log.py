"""The log of a real CoreDNS, followed by the controller as it is put together."""

import asyncio
import time
from functools import partial
from pathlib import Path

from tests.api.egress.control.field import OWN, Field, cidrs
from tests.api.egress.control.pods import pod, running
from tests.api.kube.objects import new_name, wait_for
from tests.harness.fakes.dns_server import dns_server
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client
from tests.harness.programs.coredns import running_coredns
from tests.harness.programs.coredns_log import Logged, ask_as_pod
from tests.harness.programs.egress_control import Controlled, controlling, settings_of

ONE = "sallyport-allow-one-0"


async def test_a_policy_has_a_new_address_soon_after_a_pod_was_answered_it(
    apiserver: ApiServer, client: Client, tmp_path: Path
) -> None:
    """The Pod of DNS is found by its labels; what opens is what it answers to us."""
    field, logged = Field(client, new_name("egress")), Logged(tmp_path)
    await field.prepare()
    dns = new_name("dns")
    await client.create_namespace(dns)
    await running(client, pod(dns, "coredns", app="coredns"), "127.0.0.1")
    host = f"{field.name}.example.com"
    with dns_server() as upstream:
        upstream.set(host, "192.0.2.7", ttl=5)
        with running_coredns(tmp_path, upstream.port, logged.corefile, host) as port:
            files = logged.settings
            section = {
                "dns": {"namespace": dns, "labels": {"app": "coredns"}, "port": port},
                "names": {"quiet": 1},
                "dns_log": {
                    "server_name": files.server_name,
                    "port": files.port,
                    "ca": files.authority,
                    "cert": files.certificate,
                    "key": files.key,
                },
            }
            async with controlling(settings_of(apiserver.kubeconfig(), OWN, section)) as found:
                await field.allow("one", {"dnsName": host})
                await field.settle(lambda now: ONE in now and cidrs(now[ONE]) == ["192.0.2.7/32"])
                await wait_for(partial(_is_open, found), 20)
                await asyncio.sleep(8)  # The name's burst is over: it is asked for every 30 s.
                upstream.set(host, "192.0.2.8", ttl=5)
                await wait_for(partial(_is_answered, port, host, "192.0.2.8"), 20)
                answered = time.monotonic()
                asking = asyncio.create_task(_keep_asking(port, host))
                await field.settle(lambda now: "192.0.2.8/32" in cidrs(now[ONE]))
                assert time.monotonic() - answered < 8
                asking.cancel()
                assert found.metric("sallyport_egress_dns_log_hints_total") >= 1


def _is_open(found: Controlled) -> bool:
    return found.metric("sallyport_egress_dns_logs_open") == 1


async def _is_answered(port: int, host: str, address: str) -> bool:
    return address in (await ask_as_pod(port, host)).to_text()


async def _keep_asking(port: int, host: str) -> None:
    while True:
        await asyncio.sleep(0.5)
        await ask_as_pod(port, host)
