"""Rules of a site's bundle refuse kinds that carry no privileges, through kube-apiserver."""

import asyncio
import base64
import time
from collections.abc import AsyncIterator, Iterator
from typing import Final

import pytest
import yaml

from policies import BUILT_IN_REGO
from policies.build.builder import build
from policies.site.choices import read_choices
from tests.api.admission.conftest import install, shipped_by_install
from tests.harness.evidence import ROOT
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.availability import require
from tests.harness.programs.client import Client, Json, Outcome, connect
from tests.harness.programs.guarded_apiserver import Installation, guarded
from tests.harness.programs.helm import Helm

NAMESPACE: Final = "site-rules"
EXAMPLE: Final = ROOT / "examples" / "site-rules" / "acme"
KINDS: Final = [
    {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["services"]},
    {"apiGroups": ["networking.k8s.io"], "apiVersions": ["v1"], "resources": ["ingresses"]},
]
_SETTLE_S: Final = 30.0


@pytest.fixture(scope="module")
def installation(
    apiserver: ApiServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    """A gate with a bundle of the site's."""
    folder = tmp_path_factory.mktemp("site-rules")
    chosen = {
        "acme/hosts": {"namespaces": [NAMESPACE], "parameters": {"domains": [".example.com"]}},
        "acme/ports": {"namespaces": [NAMESPACE]},
    }
    (folder / "rules.yaml").write_text(yaml.safe_dump({"rules": chosen}))
    bundle = folder / "bundle.tar.gz"
    choices = read_choices(folder / "rules.yaml")
    build(require("opa"), BUILT_IN_REGO, bundle, [EXAMPLE], choices)
    settings = {"SALLYPORT_BUNDLE": str(bundle)}
    with guarded(apiserver, folder, install, settings, leftovers=shipped_by_install()) as found:
        yield found


def webhook(helm: Helm, installation: Installation) -> Json:
    """Return the registration that the chart makes of `webhooks.kinds`, asked of the gate."""
    values = {"webhooks": {"kinds": KINDS}}
    kind = "ValidatingWebhookConfiguration"
    item, made = next(
        (item, each)
        for item in helm.objects(values)
        if item["kind"] == kind
        for each in item.get("webhooks", ())
        if each["name"] == "rules.sallyport.dev"
    )
    authority = installation.apiserver.authority.pem
    made["clientConfig"] = {
        "url": f"{installation.gate.url}/validate",
        "caBundle": base64.b64encode(authority).decode(),
    }
    return {
        "apiVersion": item["apiVersion"],
        "kind": item["kind"],
        "metadata": {"name": "sallyport-site-rules"},
        "webhooks": [made],
    }


@pytest.fixture
async def client(installation: Installation, helm: Helm) -> AsyncIterator[Client]:
    """A cluster administrator, once kube-apiserver asks about Services."""
    registration = webhook(helm, installation)
    async with connect(installation.apiserver) as client:
        await client.create_namespace(NAMESPACE)
        await client.apply([registration])
        try:
            until = time.monotonic() + _SETTLE_S
            while (await client.dry_run(service("NodePort"))).outcome is not Outcome.DENIED:
                assert time.monotonic() < until, "kube-apiserver never asked about a Service"
                await asyncio.sleep(0.1)
            yield client
        finally:
            await client.delete(registration)


def service(kind: str) -> Json:
    """Return a Service of a type."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": NAMESPACE},
        "spec": {"type": kind, "ports": [{"port": 80}]},
    }


def ingress(*hosts: str) -> Json:
    """Return an Ingress for hosts."""
    backend = {"service": {"name": "web", "port": {"number": 80}}}
    paths = {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "web", "namespace": NAMESPACE},
        "spec": {"rules": [{"host": host, "http": paths} for host in hosts]},
    }


async def test_what_breaks_a_rule_is_refused_with_field_and_fix(client: Client) -> None:
    """A cluster administrator too: rules deny whoever asks; what keeps to them is admitted."""
    refused = await client.dry_run(ingress("a.example.com", "evil.example.org"))
    assert refused.outcome is Outcome.DENIED
    assert "Ingress site-rules/web: A rule of this cluster denies it." in refused.message
    assert "1. spec.rules[1].host: has the host evil.example.org" in refused.message
    assert "Fix: Take a name below the site's own domain." in refused.message
    assert (await client.dry_run(ingress("a.example.com"))).outcome is Outcome.ALLOWED
    assert (await client.dry_run(service("ClusterIP"))).outcome is Outcome.ALLOWED


async def test_an_update_is_judged_where_it_changes_what_the_rule_reads(client: Client) -> None:
    """A Service becomes a NodePort: refused; it gets a label: nothing is asked."""
    made = await client.create(service("ClusterIP"))
    try:
        labelled = await client.patch(made, {"metadata": {"labels": {"team": "x"}}})
        assert labelled["metadata"]["labels"] == {"team": "x"}
        changed = labelled | {"spec": {**labelled["spec"], "type": "NodePort"}}
        answer = await client.ask_to_replace(changed)
        assert "spec.type: opens a port of every node" in str(answer)
    finally:
        await client.delete(made)
