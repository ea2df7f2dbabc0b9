"""Whether a Pod that is no part of Sallyport reaches the gate's port: tried inside that Pod."""

from typing import Any, Final

import msgspec
import yaml

from app.settings.root import Settings
from cli.verify.answers import Step, StepOutcome
from cli.verify.config_maps import UnreadConfigError, read_config
from core.base.errors import ClusterError
from egress.analysis.probe_program import NO_TOOL, probe_command, read_probe_output
from egress.analysis.verification import Probe, ProbeFinding
from kube.client.connection import Connection
from kube.client.pod_exec import PodExec
from kube.resources.paths import ADMISSION_PATH

_NAME: Final = "port"
_TIMEOUT_S: Final = 3
"""Of one connection: a policy that drops packets lets it run out."""
_ANSWER_S: Final = 35.0

_APISERVER: Final = Probe("kubernetes.default.svc", 443, "kube-apiserver", "open")
"""What a Pod reaches, but where its own egress is closed: then nothing is learnt."""

_CONFIG_MAP: Final = "sallyport-gate"

_UNREAD: Final = (
    "give whoever asks the right to get that ConfigMap, and say where Sallyport is "
    "(SALLYPORT_NAMESPACE), then ask again"
)

_REMEDY: Final = (
    "say in networkPolicies.webhooksFrom where kube-apiserver calls from (examples/values/), or "
    "have it show a certificate (gate.clientCaConfigMap and gate.clientNames); does the cluster "
    "enforce NetworkPolicies?"
)


async def try_port(settings: Settings, connection: Connection, namespace: str, pod: str) -> Step:
    """Try to connect from a Pod to the gate, and to kube-apiserver, which shows that it can."""
    probes = [await _gate(settings, connection), _APISERVER]
    what = f"Pod {namespace}/{pod}"
    try:
        async with PodExec(settings.kubeconfig) as exec_:
            command = probe_command(probes, _TIMEOUT_S)
            ran = await exec_.run((namespace, pod), "", command, 4 * _TIMEOUT_S + 10.0)
    except ClusterError as error:
        return Step(_NAME, StepOutcome.UNKNOWN, f"{what}: {error}", "name a Pod that runs")
    if ran.code == NO_TOOL:
        found = f"{what}: its image has neither python3, bash with timeout, nor nc"
        return Step(_NAME, StepOutcome.UNKNOWN, found, "name a Pod whose image has one of them")
    gate, apiserver = read_probe_output(ran.out, len(probes))[1]
    needed: bool | str = False
    if gate == "open":
        needed = await gate_needs_certificate(settings, connection)
    return judge_port(what, gate, apiserver, needs_certificate=needed)


def judge_port(
    what: str, gate: ProbeFinding, apiserver: ProbeFinding, *, needs_certificate: bool | str
) -> Step:
    """Say what was found. Pure.

    `needs_certificate` is why it is not known, where it is not.
    """
    if gate == "open":
        return _judge_open(what, needs_certificate=needs_certificate)
    if gate in {"timeout", "unreachable"} and apiserver == "open":
        return Step(_NAME, StepOutcome.HOLDS, f"{what} does not reach the gate ({gate})", "")
    found = f"{what}: nothing is learnt: the gate {gate}, kube-apiserver {apiserver}"
    remedy = "name a Pod that may connect to kube-apiserver and resolves names of Services"
    if gate == "refused" and apiserver == "open":
        remedy = (
            "either the network policy refuses the connection, or no gate listens: where the steps "
            "above hold, gates answer and the policy holds"
        )
    return Step(_NAME, StepOutcome.UNKNOWN, found, remedy)


def _judge_open(what: str, *, needs_certificate: bool | str) -> Step:
    if isinstance(needs_certificate, str):
        found = (
            f"{what} reaches the gate; whether the gate demands kube-apiserver's certificate is "
            f"not known: {needs_certificate}"
        )
        return Step(_NAME, StepOutcome.UNKNOWN, found, _UNREAD)
    if needs_certificate:
        found = (
            f"{what} reaches the gate, which answers nobody without kube-apiserver's certificate"
        )
        return Step(_NAME, StepOutcome.HOLDS, found, "")
    found = f"{what} reaches the gate: it can ask in kube-apiserver's place"
    return Step(_NAME, StepOutcome.BROKEN, found, _REMEDY)


async def _gate(settings: Settings, connection: Connection) -> Probe:
    """Return where kube-apiserver finds the gate, by its registration."""
    path = f"{ADMISSION_PATH}/validatingwebhookconfigurations/sallyport"
    service: dict[str, Any] = {"name": "sallyport-gate", "namespace": settings.namespace}
    try:
        registered = msgspec.json.decode(await connection.get(path, _ANSWER_S, {}))
        service = registered["webhooks"][0]["clientConfig"]["service"]
    except (ClusterError, KeyError, IndexError):
        pass  # Another step says what is wrong with it.
    host = f"{service['name']}.{service['namespace']}.svc"
    return Probe(host, service.get("port", 443), "the gate", "closed")


async def gate_needs_certificate(settings: Settings, connection: Connection) -> bool | str:
    """Return whether the gate demands it, or why that is not known."""
    try:
        config = await read_config(connection, settings.namespace, _CONFIG_MAP)
    except UnreadConfigError as error:
        return str(error)
    needed = needs_certificate(config)
    if needed is None:
        return f"ConfigMap {settings.namespace}/{_CONFIG_MAP}: config.yaml holds no settings"
    return needed


def needs_certificate(config: str) -> bool | None:
    """Return whether a gate with this `config.yaml` demands kube-apiserver's certificate.

    A CA alone is not enough: it may vouch for every user of the cluster. None where the file
    cannot be read. Pure.
    """
    try:
        read = yaml.safe_load(config)
        listen = ({} if read is None else read).get("listen") or {}
        return bool(listen.get("client_ca")) and bool(listen.get("client_names"))
    except (AttributeError, yaml.YAMLError):
        return None
