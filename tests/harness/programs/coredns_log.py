"""The log of a CoreDNS on loopback: who may read it, and Pods that ask."""

from pathlib import Path
from typing import Final

import dns.asyncquery
import dns.message

from egress.dns.log_settings import DnsLogSettings
from tests.harness.programs.pki import Authority
from tests.harness.programs.ports import free_ports

POD: Final = "127.0.0.2"
"""Where a Pod asks from; `control` asks from 127.0.0.1."""


class Logged:
    """How a CoreDNS logs, so that whoever the authority certifies may read it."""

    def __init__(self, folder: Path) -> None:
        authority = Authority(folder)
        self.server = authority.issue_loopback_server("coredns")
        client = authority.issue_client("control", "spiffe://example/control")
        self.authority = authority.certificate_path
        self.settings = DnsLogSettings(
            "localhost", free_ports(1)[0], self.authority, client.certificate, client.key
        )

    @property
    def corefile(self) -> str:
        """Lines of a Corefile."""
        return (
            f"dnstap listen tls://127.0.0.1:{self.settings.port} full {{\n"
            f"    tls {self.server.certificate} {self.server.key} {self.authority}\n  }}"
        )


async def ask_as_pod(port: int, name: str) -> dns.message.Message:
    """Ask for the addresses of IPv4 as a Pod does."""
    query = dns.message.make_query(f"{name}.", "A")
    return await dns.asyncquery.udp(query, "127.0.0.1", 5, port, source=POD)
