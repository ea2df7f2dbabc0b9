"""The files of settings that the chart writes are what the processes take."""

import inspect
from pathlib import Path, PurePosixPath

import pytest

from app.records import recorder
from app.settings.egress import dns_log_of
from app.settings.identity import IdentitySection, require_sources, require_tenant
from app.settings.root import Settings, read_settings
from audit.ledger.server.instances import AUDIENCE
from audit.ledger.spool.queue import Spool
from egress.dns.log_settings import DnsLogSettings
from kube.leader.lease import LeaseSettings
from tests.harness.programs.client import Json
from tests.harness.programs.helm import Helm, named, pod_templates
from tests.unit.helm.switches import SECRET, SWITCHES
from webhooks.limits import ServerSettings

HEAD = "sallyport-risk"
FOLDER = PurePosixPath("/etc/sallyport")

PROBES_S = 1.0
"""What the status listener waits for at the end (webhooks/server.py)."""
LAST_DELIVERY_S = recorder._DRAIN_S  # noqa: SLF001 -- no part of what others may rely on
CLOSE_S = inspect.signature(Spool.close).parameters["seconds"].default


def settings_of(objects: list[Json], component: str, folder: Path) -> Settings:
    """Read the settings of a process as it does itself."""
    text = named(objects, "ConfigMap", f"sallyport-{component}")["data"]["config.yaml"]
    file = folder / f"{component}.yaml"
    file.write_text(text)
    return read_settings(file, {})


def files_of(section: IdentitySection) -> list[Path | None]:
    """Return the files that a section of identity names."""
    events = section.security_events
    return [
        *(section.token_file, section.certificate, section.secret_file, section.trust),
        section.event_hub.connection_string_file,
        *(events.cert, events.key, events.token_file),
    ]


def files_of_weights(settings: Settings) -> list[Path | None]:
    """Return the files by which the ledger is signed, and Azure asked about the weights."""
    hub, azure = settings.weights.event_hub, settings.weights.azure
    return [
        *(settings.ledger.signing_key, *(place.kubeconfig for place in settings.ledger.anchors)),
        *(place.trust for place in settings.ledger.anchors),
        settings.ledger.timestamp.ca if settings.ledger.timestamp else None,
        *(hub.connection_string_file, hub.trust, settings.weights.container.trust),
        *(azure.token_file, azure.trust),
        *(sink.trust for sink in settings.notifications.sinks),
        *(sink.secrets / "key" for sink in settings.notifications.sinks if sink.secrets),
    ]


def files_of_dns_log(settings: Settings) -> list[Path | None]:
    """Return the files by which the logs of the cluster's DNS are read."""
    log = settings.egress.dns_log
    return [log.ca, log.cert, log.key]


def components(objects: list[Json]) -> list[str]:
    """Return the processes that are installed."""
    return [name.removeprefix("sallyport-") for name in pod_templates(objects)]


@pytest.mark.parametrize("switch", SWITCHES)
def test_every_file_is_read(helm: Helm, tmp_path: Path, switch: str) -> None:
    """No setting is unknown or out of bounds, whatever is switched."""
    objects = helm.objects(SWITCHES[switch])
    found = components(objects)
    assert sorted(found) == sorted(
        {"gate", "control"} if switch == "no auditor" else {"gate", "control", "auditor"}
    )
    for component in found:
        assert settings_of(objects, component, tmp_path).namespace == "sallyport-system"


def test_a_rolling_upgrade_puts_no_decision_into_quarantine(helm: Helm, tmp_path: Path) -> None:
    """Gates of an earlier release prove nothing: by default what they send is taken."""
    assert settings_of(helm.objects({}), "auditor", tmp_path).receive.instances == "check"


@pytest.mark.parametrize("switch", SWITCHES)
def test_every_path_lies_in_a_volume(helm: Helm, tmp_path: Path, switch: str) -> None:
    """What a setting points at is mounted, to be written where it must be."""
    objects = helm.objects(SWITCHES[switch])
    for name, template in pod_templates(objects).items():
        settings = settings_of(objects, name.removeprefix("sallyport-"), tmp_path)
        (container,) = template["spec"]["containers"]
        mounts = {mount["mountPath"]: mount for mount in container["volumeMounts"]}
        read = [
            *(settings.listen.cert, settings.listen.key, settings.listen.client_ca),
            *(settings.shipping.ca, settings.shipping.cert, settings.shipping.key, settings.bundle),
            *(settings.receive.cert, settings.receive.key, settings.receive.client_ca),
            *(settings.bundles.source.ca_file, settings.bundles.source.password_file),
            *files_of_dns_log(settings),
            *files_of(settings.identity),
            *files_of_weights(settings),
        ]
        for path in filter(None, read):
            assert mounts[str(path.parent)]["readOnly"] is True
        if settings.spool.folder:
            assert "readOnly" not in mounts[str(settings.spool.folder)]
        url = settings.ledger.url.get_secret_value() if settings.ledger.url else ""
        if url:
            ledger = PurePosixPath(url.removeprefix("sqlite:///"))
            assert "readOnly" not in mounts[str(ledger.parent)]
        assert container["args"][1:3] == ["--config", str(FOLDER / "config" / "config.yaml")]


def test_settings_say_what_the_values_say(helm: Helm, tmp_path: Path) -> None:
    """Numbers and words arrive as they were given, large and odd ones too."""
    objects = helm.objects(SWITCHES["every setting"])
    gate = settings_of(objects, "gate", tmp_path)
    assert gate.cluster_id == "0123"
    assert gate.controllers == ["system:serviceaccount:a:b", "yes"]
    assert gate.access.deny_age == 0.25
    assert gate.spool.max_bytes == 2**40
    assert gate.listen.max_held_bytes == 17179869184
    assert (gate.record.when_full.value, gate.record.lines) == ("admit", True)
    control = settings_of(objects, "control", tmp_path)
    assert (control.sweep.interval, control.sweep.pods_per_second) == (604800, 10000)
    assert (control.capacity.interval, control.capacity.nodes_per_second) == (300, 1000)
    assert control.discovery.search == ["a.b.example"]
    assert control.discovery.skip == ["c.d.example"]
    assert control.default_mode is gate.default_mode
    assert control.record.lines is True
    assert settings_of(objects, "auditor", tmp_path).ledger.keep_days == 3650


@pytest.mark.parametrize("switch", [name for name in SWITCHES if name.startswith("identity")])
def test_control_can_learn_of_risk(helm: Helm, tmp_path: Path, switch: str) -> None:
    """Its file is whole, however it signs in; the gate's names no application and no key."""
    objects = helm.objects(SWITCHES[switch])
    control = settings_of(objects, "control", tmp_path).identity
    require_sources(control, None)
    gate = settings_of(objects, "gate", tmp_path).identity
    require_tenant(gate)
    both = {"enabled", "tenant", "max_age", "revoked_for", "suspend_exceptions"}
    assert gate.model_dump(include=both) == control.model_dump(include=both)
    assert gate.model_dump(exclude=both) == IdentitySection().model_dump(exclude=both)


def test_control_alone_reads_the_logs_of_dns(helm: Helm, tmp_path: Path) -> None:
    """The gate has neither the setting nor the Secret; without the value nobody has."""
    objects = helm.objects(SWITCHES["logs of DNS"])
    found = dns_log_of(settings_of(objects, "control", tmp_path).egress)
    folder = Path(FOLDER / "dns-log")
    assert found == DnsLogSettings(
        "kube-dns.example", 6053, folder / "ca.crt", folder / "tls.crt", folder / "tls.key"
    )
    for name, template in pod_templates(objects).items():
        secrets = [each.get("secret", {}).get("secretName") for each in template["spec"]["volumes"]]
        assert ("dns-log" in secrets) is (name == "sallyport-control")
    assert dns_log_of(settings_of(objects, "gate", tmp_path).egress) is None
    assert "dns-log" not in str(helm.objects({}))
    assert "dns_log" not in str(helm.objects({}))


def test_identity_says_what_the_values_say(helm: Helm, tmp_path: Path) -> None:
    """Numbers and words arrive as they were given."""
    objects = helm.objects(SWITCHES["identity with all that pushes"])
    section = settings_of(objects, "control", tmp_path).identity
    assert (section.rate, section.poll_every, section.full_every) == (2.5, 30, 604800)
    assert (section.max_age, section.guests, section.suspend_exceptions) == (604800, True, True)
    assert section.event_hub.topics == ["risk"]
    assert section.event_hub.auth == "connection-string"
    assert section.security_events.audience == "https://receiver.example/events"
    assert (section.behaviour.enabled, section.behaviour.every) == (False, 60)
    assert (section.look_back.enabled, section.look_back.days) == (False, 90)


def test_the_federated_token_is_for_entra_alone(helm: Helm) -> None:
    """It is of Entra's audience, lasts an hour, and only control has it.

    The gate's opens nothing but the auditor.
    """
    templates = pod_templates(helm.objects(SWITCHES["identity"]))
    volumes = {name: template["spec"]["volumes"] for name, template in templates.items()}
    tokens = {
        name: [
            source["serviceAccountToken"]
            for volume in found
            for source in volume.get("projected", {}).get("sources", [])
        ]
        for name, found in volumes.items()
    }
    assert tokens == {
        "sallyport-gate": [
            {"audience": AUDIENCE, "expirationSeconds": 3600, "path": "token"},
        ],
        "sallyport-auditor": [],
        "sallyport-control": [
            {"audience": "api://AzureADTokenExchange", "expirationSeconds": 3600, "path": "token"}
        ],
    }


@pytest.mark.parametrize("component", ["gate", "control"])
def test_no_secret_of_risk_is_readable_without_identity(helm: Helm, component: str) -> None:
    """The rights come with the setting, and name each Secret."""
    named_secrets = {
        switch: {
            name
            for rule in named(helm.objects(SWITCHES[switch]), "Role", f"sallyport-{component}")[
                "rules"
            ]
            if "secrets" in rule["resources"] and "create" not in rule["verbs"]
            for name in rule["resourceNames"]
        }
        for switch in ("defaults", "identity")
    }
    shards = {f"{HEAD}-{generation}{shard}" for generation in "ab" for shard in range(16)}
    own = {"sallyport-look-backs"} if component == "control" else set()
    assert named_secrets["identity"] - named_secrets["defaults"] == {HEAD, *shards, *own}


def test_control_is_told_nothing_that_it_does_not_use(helm: Helm) -> None:
    """It answers no requests, so it has none to refuse: the sweep waits."""
    objects = helm.objects(SWITCHES["every setting"])
    texts = {
        name: named(objects, "ConfigMap", f"sallyport-{name}")["data"]["config.yaml"]
        for name in ("gate", "control")
    }
    assert "when_full: admit" in texts["gate"]
    assert "when_full" not in texts["control"]


def test_the_ledgers_url_is_in_no_configmap(helm: Helm, tmp_path: Path) -> None:
    """PostgreSQL's URL holds a password: it comes from the Secret alone."""
    objects = helm.objects(SWITCHES["PostgreSQL"])
    assert settings_of(objects, "auditor", tmp_path).ledger.url is None
    (container,) = pod_templates(objects)["sallyport-auditor"]["spec"]["containers"]
    reference = {"secretKeyRef": {"name": SECRET, "key": "url"}}
    assert container["env"] == [{"name": "SALLYPORT_LEDGER__URL", "valueFrom": reference}]
    assert "volumeClaimTemplates" not in named(objects, "StatefulSet", "sallyport-auditor")["spec"]


def test_without_an_auditor_nothing_fills_a_spool(helm: Helm, tmp_path: Path) -> None:
    """A spool that nobody empties would in the end refuse every Pod."""
    objects = helm.objects(SWITCHES["no auditor"])
    for component in ("gate", "control"):
        settings = settings_of(objects, component, tmp_path)
        assert settings.spool.folder is None
        assert settings.shipping.url is None


@pytest.mark.parametrize("mib", [64, 1024, 1048576])
def test_the_spools_volume_is_larger_than_its_cap(helm: Helm, tmp_path: Path, mib: int) -> None:
    """Kubelet evicts a Pod that outgrows its emptyDir."""
    objects = helm.objects({"gate": {"spool": {"sizeMib": mib}}})
    cap = settings_of(objects, "gate", tmp_path).spool.max_bytes
    volumes = {
        volume["name"]: volume
        for volume in pod_templates(objects)["sallyport-gate"]["spec"]["volumes"]
    }
    limit = volumes["spool"]["emptyDir"]["sizeLimit"]
    assert int(limit.removesuffix("Mi")) * 2**20 >= cap + 64 * 2**20


def test_the_grace_period_covers_the_drain(helm: Helm) -> None:
    """SIGKILL must not come before reviews in flight are answered and decisions are shipped."""
    for drain in (0, 5, 120):
        objects = helm.objects({"gate": {"drainSeconds": drain}})
        spec = pod_templates(objects)["sallyport-gate"]["spec"]
        needed = drain + ServerSettings.finish_seconds + PROBES_S + LAST_DELIVERY_S + CLOSE_S
        assert needed < spec["terminationGracePeriodSeconds"] <= needed + 5


def test_the_grace_period_of_control_covers_its_end(helm: Helm) -> None:
    """The Lease is given back, and what the sweep found is shipped, before SIGKILL."""
    spec = pod_templates(helm.objects({}))["sallyport-control"]["spec"]
    needed = LeaseSettings().call_timeout_s + PROBES_S + LAST_DELIVERY_S + CLOSE_S
    assert needed < spec["terminationGracePeriodSeconds"] <= needed + 5
