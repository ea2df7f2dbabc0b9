"""A real rsyslog on loopback: takes syslog over TLS, and writes each message to a file as JSON."""

import json
import socket
from functools import partial
from pathlib import Path
from typing import Any, Final

from tests.harness.programs.availability import skip_or_fail
from tests.harness.programs.pki import Authority
from tests.harness.programs.ports import free_ports
from tests.harness.programs.process import ServerFailedError, ServerProcess
from tests.tools.debian import provide_packages
from tests.tools.provide import CannotProvideError

START_S: Final = 20.0

_CONFIG: Final = """
global(workDirectory="{folder}" maxMessageSize="8k"
  defaultNetstreamDriver="ossl"
  defaultNetstreamDriverCAFile="{ca}"
  defaultNetstreamDriverCertFile="{cert}"
  defaultNetstreamDriverKeyFile="{key}")
module(load="imtcp" streamDriver.name="ossl" streamDriver.mode="1" streamDriver.authMode="{auth}")
input(type="imtcp" address="127.0.0.1" port="{port}")
template(name="json" type="list" option.jsonf="on") {{
{properties}
}}
action(type="omfile" file="{folder}/received" template="json")
"""

_PROPERTIES: Final = (
    *("pri", "protocol-version", "timestamp", "hostname", "app-name", "procid", "msgid"),
    *("structured-data", "msg"),
)


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1.0).close()
    except OSError:
        return False
    return True


class Rsyslog:
    """One that runs; with `demands_client` it takes those alone whom its CA knows."""

    def __init__(self, folder: Path, authority: Authority, *, demands_client: bool = False) -> None:
        """Start it, and wait until it listens; without its packages see `skip_or_fail`."""
        try:
            root = provide_packages("syslog-packages")
        except CannotProvideError as error:
            skip_or_fail(error)
        folder.mkdir()
        pair = authority.issue_loopback_server(folder.name)
        (port,) = free_ports(1)
        self.address = f"127.0.0.1:{port}"
        self._received = folder / "received"
        properties = "\n".join(
            f'  property(outname="{name}" name="{name}" format="jsonf"'
            f"{' dateFormat=' + chr(34) + 'rfc3339' + chr(34) if name == 'timestamp' else ''})"
            for name in _PROPERTIES
        )
        config = folder / "rsyslog.conf"
        config.write_text(
            _CONFIG.format(
                folder=folder,
                ca=authority.certificate_path,
                cert=pair.certificate,
                key=pair.key,
                auth="x509/certvalid" if demands_client else "anon",
                port=port,
                properties=properties,
            )
        )
        libraries = root / "usr/lib/x86_64-linux-gnu"
        command: list[str | Path] = [
            root / "usr/sbin/rsyslogd",
            "-n",
            "-f",
            config,
            "-i",
            folder / "pid",
        ]
        modules: list[str | Path] = ["-M", libraries / "rsyslog"]
        self._process = ServerProcess(
            "rsyslog",
            [*command, *modules],
            folder / "log",
            {"LD_LIBRARY_PATH": f"{libraries}:{root / 'lib/x86_64-linux-gnu'}"},
        )
        try:
            self._process.wait_until(partial(_listens, port), START_S)
        except ServerFailedError:
            self._process.stop()
            raise

    def received(self) -> list[dict[str, Any]]:
        """Return the messages that are written, by the names of their fields."""
        text = self._received.read_text() if self._received.exists() else ""
        return [json.loads(line) for line in text.splitlines()]

    def stop(self) -> None:
        """End it."""
        self._process.stop()
