"""values.schema.json: closed, complete, and of one mind with the settings."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from app.settings.root import Settings
from tests.harness.programs.helm import CHART, CRDS, Helm, HelmFailedError, Values

SCHEMA = json.loads((CHART / "values.schema.json").read_text())
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())

SETTING_OF = {
    "clusterId": "cluster_id",
    "whenFieldUnknown": "when_field_unknown",
    "rollout.least": "rollout.least",
    "rollout.new": "rollout.new",
    "rollout.newSince": "rollout.new_since",
    "controllers": "controllers",
    "pipelines": "pipelines",
    "sharedAccounts": "shared_accounts",
    "approvals.profiles": "approvals.profiles",
    "sandbox.runtime": "sandbox.runtime",
    "sandbox.second": "sandbox.second",
    "sandbox.handlers": "sandbox.handlers",
    "sandbox.threshold": "sandbox.threshold",
    "sandbox.points": "sandbox.points",
    "sandbox.gpuLabel": "sandbox.gpu_label",
    "sandbox.newAccountHours": "sandbox.new_account_hours",
    "egress.default": "egress.default",
    "egress.excludedNamespaces": "egress.excluded",
    "egress.engine": "egress.engine",
    "egress.ciliumVersion": "egress.cilium_version",
    "egress.ipFamilies": "egress.ip_families",
    "egress.sctp": "egress.sctp",
    "egress.floor": "egress.floor",
    "egress.foreignPolicies": "egress.foreign_policies",
    "egress.ranges.pods": "egress.ranges.pods",
    "egress.ranges.services": "egress.ranges.services",
    "egress.ranges.nodes": "egress.ranges.nodes",
    "egress.dns.namespace": "egress.dns.namespace",
    "egress.dns.labels": "egress.dns.labels",
    "egress.dns.others": "egress.dns.others",
    "egress.dns.addresses": "egress.dns.addresses",
    "egress.dns.port": "egress.dns.port",
    "egress.dns.domain": "egress.dns.domain",
    "egress.dns.search": "egress.dns.search",
    "egress.resolver.servers": "egress.resolver.servers",
    "egress.resolver.pods": "egress.resolver.pods",
    "egress.resolver.timeoutSeconds": "egress.resolver.timeout",
    "egress.resolver.tries": "egress.resolver.tries",
    "egress.resolver.atOnce": "egress.resolver.at_once",
    "egress.dnsLog.serverName": "egress.dns_log.server_name",
    "egress.dnsLog.port": "egress.dns_log.port",
    "egress.names.windowSeconds": "egress.names.window",
    "egress.names.minRefreshSeconds": "egress.names.min_refresh",
    "egress.names.maxRefreshSeconds": "egress.names.max_refresh",
    "egress.names.maxAddresses": "egress.names.max_addresses",
    "egress.names.quietSeconds": "egress.names.quiet",
    "egress.names.burstQuestions": "egress.names.burst_questions",
    "egress.names.burstNameQuestions": "egress.names.burst_name_questions",
    "egress.limits.ipv4Prefix": "egress.limits.ipv4_prefix",
    "egress.limits.ipv6Prefix": "egress.limits.ipv6_prefix",
    "egress.limits.wildcardLabels": "egress.limits.wildcard_labels",
    "egress.limits.ports": "egress.limits.ports",
    "egress.approve": "egress.approve",
    "egress.limits.serviceTags": "egress.limits.service_tags",
    "identity.enabled": "identity.enabled",
    "identity.tenant": "identity.tenant",
    "identity.clientId": "identity.client_id",
    "identity.credential": "identity.credential",
    "identity.allowSecret": "identity.allow_secret",
    "identity.authority": "identity.authority",
    "identity.graph": "identity.graph",
    "identity.rateSeconds": "identity.rate",
    "identity.pollEverySeconds": "identity.poll_every",
    "identity.fullEverySeconds": "identity.full_every",
    "identity.guests": "identity.guests",
    "identity.maxAgeSeconds": "identity.max_age",
    "identity.revokedForSeconds": "identity.revoked_for",
    "identity.suspendExceptions": "identity.suspend_exceptions",
    "identity.eventHub.servers": "identity.event_hub.servers",
    "identity.eventHub.topics": "identity.event_hub.topics",
    "identity.eventHub.group": "identity.event_hub.group",
    "identity.eventHub.auth": "identity.event_hub.auth",
    "identity.eventHub.allowConnectionString": "identity.event_hub.allow_connection_string",
    "identity.securityEvents.issuer": "identity.security_events.issuer",
    "identity.securityEvents.audience": "identity.security_events.audience",
    "identity.securityEvents.keysUrl": "identity.security_events.keys_url",
    "identity.behaviour.enabled": "identity.behaviour.enabled",
    "identity.behaviour.everySeconds": "identity.behaviour.every",
    "identity.lookBack.enabled": "identity.look_back.enabled",
    "identity.lookBack.days": "identity.look_back.days",
    "bundle.source.oci": "bundles.source.oci",
    "bundle.source.everySeconds": "bundles.source.interval",
    "bundle.source.unsigned": "bundles.source.unsigned",
    "bundle.source.username": "bundles.source.username",
    "maxStalenessSeconds": "max_staleness",
    "logFormat": "log_format",
    "logLevel": "log_level",
    "access.allowAgeSeconds": "access.allow_age",
    "access.denyAgeSeconds": "access.deny_age",
    "access.timeoutSeconds": "access.timeout",
    "shadow.budget": "shadow.budget",
    "evaluation.seconds": "evaluation.seconds",
    "evaluation.memoryMib": "evaluation.memory_mib",
    "evaluation.remembered": "evaluation.remembered",
    "evaluation.engine": "evaluation.engine",
    "record.refusalsPerMinute": "record.refusals_per_minute",
    "record.lines": "record.lines",
    "record.people": "record.people",
    "gate.drainSeconds": "listen.drain_seconds",
    "gate.maxBodyBytes": "listen.max_body_bytes",
    "gate.maxHeldBytes": "listen.max_held_bytes",
    "control.sweep.intervalSeconds": "sweep.interval",
    "control.sweep.podsPerSecond": "sweep.pods_per_second",
    "control.capacity.intervalSeconds": "capacity.interval",
    "control.capacity.nodesPerSecond": "capacity.nodes_per_second",
    "control.discovery.search": "discovery.search",
    "control.discovery.skip": "discovery.skip",
    "auditor.ledger.keepDays": "ledger.keep_days",
    "auditor.ledger.maxRefusalMib": "ledger.max_refusal_mib",
    "auditor.ledger.compress": "ledger.compress",
    "auditor.ledger.hold": "ledger.hold",
    "auditor.ledger.headEverySeconds": "ledger.head_every_s",
    "weights.container.site": "weights.container.site",
    "weights.container.containers": "weights.container.containers",
    "weights.eventHub.servers": "weights.event_hub.servers",
    "weights.eventHub.topics": "weights.event_hub.topics",
    "weights.eventHub.allowConnectionString": "weights.event_hub.allow_connection_string",
    "weights.networks.pods": "weights.networks.pods",
    "weights.networks.nodes": "weights.networks.nodes",
    "weights.networks.others": "weights.networks.others",
    "weights.networks.shared": "weights.networks.shared",
    "weights.networks.leavesAs": "weights.networks.leaves_as",
    "weights.pollEverySeconds": "weights.poll_every",
    "weights.patienceSeconds": "weights.patience",
    "weights.tokenHours": "weights.token_hours",
    "weights.delaySeconds": "weights.delay",
    "weights.mostPods": "weights.most_pods",
    "weights.nodeIdentities": "weights.node_identities",
    "weights.tenants": "weights.tenants",
    "weights.subscriptions": "weights.subscriptions",
    "weights.tuning": "weights.tuning",
    "weights.expected": "weights.expected",
    "weights.azure.enabled": "weights.azure.enabled",
    "weights.azure.tenant": "weights.azure.tenant",
    "weights.azure.clientId": "weights.azure.client_id",
    "weights.azure.credential": "weights.azure.credential",
    "weights.azure.manager": "weights.azure.manager",
    "weights.azure.everySeconds": "weights.azure.every",
    "weights.azure.justInTime": "weights.azure.just_in_time",
    "weights.grants.whenEnded": "weights.grants.when_ended",
    "notifications.giveUpHours": "notifications.give_up_hours",
    "notifications.endsDays": "notifications.ends_days",
    "notifications.waitsHours": "notifications.waits_hours",
    "certificates.source": "certificates.source",
    "certificates.authorityDays": "certificates.authority_days",
    "certificates.leafDays": "certificates.leaf_days",
    "certificates.distributionSeconds": "certificates.distribution_seconds",
    "gate.clientNames": "listen.client_names",
}
"""Values that are settings, as they are."""

MADE = {
    *(f"{section}.{end}" for section in ("listen", "receive") for end in ("host", "port")),
    *(f"{section}.{end}" for section in ("listen", "receive") for end in ("cert", "key")),
    *("listen.client_ca", "receive.client_ca", "status.host", "status.port"),
    *("spool.folder", "spool.max_bytes", "shipping.url", "explain.host", "explain.port"),
    *("shipping.token", "receive.instances", "receive.gate_account", "instance"),
    *("shipping.ca", "shipping.cert", "shipping.key", "ledger.url", "namespace", "egress.tags"),
    *(f"identity.{name}" for name in ("token_file", "certificate", "secret_file", "trust")),
    "identity.event_hub.connection_string_file",
    *("bundles.keys", "bundles.source.ca_file", "bundles.source.password_file"),
    *(f"egress.dns_log.{name}" for name in ("ca", "cert", "key")),
    "shadow.bundle",
    "evaluation.opa.url",
    "default_mode",  # Of defaultMode, which has no default.
    "record.other_gates",  # Where there is more than one replica.
    "record.when_full",  # Of record.whenFull, which an upgrade may lack.
    *("ledger.max_mib", "ledger.sign_in"),  # Of auditor.ledger.maxMib, where it is no 0.
    *("ledger.signing_key", "ledger.anchors", "ledger.timestamp", "weights.folder"),
    *("weights.container.trust", "weights.event_hub.trust"),
    *("weights.event_hub.connection_string_file", "notifications.sinks"),
    *(f"weights.azure.{name}" for name in ("authority", "token_file", "trust")),
    *(f"identity.security_events.{end}" for end in ("host", "port", "cert", "key", "token_file")),
}
"""Settings that the chart makes from where it puts things."""

FREE = (
    *({"type": kind} for kind in ("string", "integer", "number")),
    {"type": "string", "enum": ["gvisor", "kata"]},
    {"type": "array", "items": {"type": "string"}},
)
"""What objects may hold under names of the user's own."""

OF_KUBERNETES = "as Kubernetes has it."
"""So ends what is said of an object that kube-apiserver checks, deeper than the schema does."""

LEFT_OUT = {
    "cluster",  # A folder in place of a cluster.
    "kubeconfig",  # In a Pod it is the service account.
    "bundle",  # The built-in one, or that of bundle.configMap.
    *(f"evaluation.opa.{name}" for name in ("push", "token_file", "ca_file")),  # Of its own Pod.
    *("explain.url", "explain.ca"),  # Of the people who ask.
    "bundles.poll",  # A mounted ConfigMap changes once a minute.
}


def closed(schema: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each part of the schema that stands for a value, by its path."""
    for name, part in schema.get("properties", {}).items():
        yield f"{path}.{name}", part
        yield from closed(part, f"{path}.{name}")
    if isinstance(schema.get("items"), dict):
        yield from closed(schema["items"], f"{path}[]")


PARTS = dict(closed(SCHEMA)) | {
    f"{name}{path}": part
    for name, definition in SCHEMA["definitions"].items()
    for path, part in [("", definition), *closed(definition)]
}


def at(tree: Any, path: str) -> Any:
    """Return what a dotted path leads to."""
    for name in path.split("."):
        tree = tree[name]
    return tree


def field_schema(setting: str) -> dict[str, Any]:
    """Return the JSON schema of a setting, as pydantic says it."""
    whole = Settings.model_json_schema()
    field: dict[str, Any] = {"properties": whole["properties"]}
    for name in setting.split("."):
        field = field["properties"][name]
        if "$ref" in field:
            field = {**whole["$defs"][field["$ref"].rpartition("/")[2]], **field}
    return field


def settings(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Name all settings, those of sections with a dot between."""
    for name, field in model.model_fields.items():
        section = field.annotation
        if isinstance(section, type) and issubclass(section, BaseModel):
            yield from settings(section, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def test_the_schema_is_closed_and_described() -> None:
    """No object takes names that it does not know, and each value says what it is."""
    assert len(PARTS) > 60
    assert SCHEMA["additionalProperties"] is False
    for path, part in PARTS.items():
        if part.get("type") == "object" and path != ".global":
            extra = part["additionalProperties"]
            free = extra in FREE and "properties" not in part
            checked = extra is True and part["description"].endswith(OF_KUBERNETES)
            assert extra is False or free or checked, path
        assert "$ref" in part or part["description"].endswith((".", "tolerated.")), path


def test_every_value_has_a_default_and_a_place_in_the_schema() -> None:
    """values.yaml lists all that the schema knows, and nothing else."""

    def compare(properties: dict[str, Any], values: dict[str, Any], path: str) -> None:
        assert properties.keys() - {"global"} == values.keys(), path
        for name, part in properties.items():
            if "properties" in part:
                compare(part["properties"], values[name], f"{path}.{name}")

    compare(SCHEMA["properties"], VALUES, "")


def test_every_setting_is_a_value_or_made() -> None:
    """A setting that is added must be given a value here, or left out for a reason."""
    assert set(settings(Settings)) == {*SETTING_OF.values(), *MADE, *LEFT_OUT}


@pytest.mark.parametrize("value", SETTING_OF)
def test_values_have_the_defaults_and_bounds_of_their_settings(value: str) -> None:
    """What the schema lets through the process takes, and nothing is set by surprise."""
    setting = SETTING_OF[value]
    theirs = field_schema(setting)
    ours = at(SCHEMA, "properties." + value.replace(".", ".properties."))
    assert at(VALUES, value) == at(json.loads(Settings().model_dump_json()), setting)
    for word in ("enum", "maximum", "maxLength", "pattern", "exclusiveMinimum"):
        if word in theirs:
            assert ours[word] == theirs[word]
    if "minimum" in theirs:
        assert ours["minimum"] >= theirs["minimum"]


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"gate": {"replica": 3}}, "replica"),
        ({"Gate": {}}, "Gate"),
        ({"webhooks": {"validating": {"failurepolicy": "Fail"}}}, "failurepolicy"),
        ({"control": {"resources": {"limit": {"memory": "1Gi"}}}}, "limit"),
        ({"auditor": {"tolerations": [{"keys": "a"}]}}, "keys"),
        ({"gate": {"affinity": {"nodeAffinities": {}}}}, "nodeAffinities"),
        ({"gate": {"topologySpreadConstraints": [{"skew": 1}]}}, "skew"),
        ({"control": {"extraEnv": [{"name": "A", "values": "b"}]}}, "values"),
        ({"auditor": {"dnsConfig": {"nameserver": []}}}, "nameserver"),
        ({"imagePullSecrets": [{"nane": "pull"}]}, "nane"),
    ],
)
def test_a_misspelt_value_is_refused_by_its_name(helm: Helm, values: Values, name: str) -> None:
    """Helm would render as if nothing had been said."""
    with pytest.raises(HelmFailedError, match=f"additional properties '{name}' not allowed"):
        helm.template(values)


def test_the_chart_of_kinds_has_no_values_and_keeps_them(helm: Helm) -> None:
    """Removing it must not remove every profile, and with them all rights to run."""
    with pytest.raises(HelmFailedError, match="additional properties 'keep' not allowed"):
        helm.run("template", "crds", CRDS, "--set", "keep=false")
    kept = [item for item in yaml.safe_load_all(helm.run("template", "crds", CRDS)) if item]
    assert len([item for item in kept if item["kind"] == "CustomResourceDefinition"]) > 1
    others = {item["metadata"]["name"] for item in kept if "Policy" in item["kind"]}
    assert others == {"revision-parameters.sallyport.dev"}  # tests/api/guards/test_made_anew.py
    for item in kept:
        assert item["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"
