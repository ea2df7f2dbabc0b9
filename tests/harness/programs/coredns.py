"""CoreDNS on loopback: caches before a name server of the test's, as Kubernetes sets it up."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dns.exception
import dns.message
import dns.query

from tests.harness.programs.ports import free_ports
from tests.harness.programs.process import ServerProcess
from tests.tools.provide import provide

_TIMEOUT_S = 30.0

_BLOCK = """{zone}:{port} {{
  bind 127.0.0.1
  errors
  {more}
  loadbalance
  cache 30
  forward . 127.0.0.1:{upstream}
}}
"""


@contextmanager
def running_coredns(folder: Path, upstream: int, more: str = "", zone: str = ".") -> Iterator[int]:
    """Run one that asks a name server on loopback; yield its port.

    `more` is of its Corefile, in the block of `zone`; another block answers all else.
    """
    port = free_ports(1)[0]
    blocks = {".": "", zone: more}
    settings = folder / f"Corefile-{port}"
    settings.write_text(
        "".join(
            _BLOCK.format(zone=each, port=port, upstream=upstream, more=lines)
            for each, lines in blocks.items()
        )
    )
    command: list[str | Path] = [provide("coredns"), "-conf", settings]
    process = ServerProcess("coredns", command, folder / f"coredns-{port}.log")
    try:
        process.wait_until(lambda: answers(port), _TIMEOUT_S)
        yield port
    finally:
        process.stop()


def answers(port: int) -> bool:
    """Return whether it answers yet."""
    query = dns.message.make_query("ready.test.", "A")
    try:
        dns.query.udp(query, "127.0.0.1", 0.2, port)
    except (OSError, dns.exception.DNSException):
        return False
    return True
