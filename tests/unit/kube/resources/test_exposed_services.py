"""Which Services let traffic in from outside, and which Pods they select."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from core.base.background import in_background
from core.base.errors import InvalidObjectError, NotSyncedError
from kube.client.connection import Connection
from kube.client.settings import LiveSettings
from kube.resources.exposed_services import (
    ExposedService,
    Services,
    WatchedServices,
    parse_exposing,
)
from tests.unit.kube.scripted_server import ScriptedServer, eventually, reply, stream

AZURE = {"service.beta.kubernetes.io/azure-load-balancer-internal": "true"}
GKE = {"networking.gke.io/load-balancer-type": "Internal"}
OLD_GKE = {"cloud.google.com/load-balancer-type": "internal"}
AWS = {"service.beta.kubernetes.io/aws-load-balancer-scheme": "internal"}
OLD_AWS = {"service.beta.kubernetes.io/aws-load-balancer-internal": "true"}
PUBLIC_AWS = {"service.beta.kubernetes.io/aws-load-balancer-scheme": "internet-facing"}

PRIVATE_ADDRESS = {"ip": "10.1.2.3"}
PUBLIC_ADDRESS = {"ip": "20.50.2.3"}
NAMED = {"hostname": "x.elb.eu-west-1.amazonaws.com"}


def service(name: str = "web", namespace: str = "train", **spec: Any) -> dict[str, Any]:
    """Return a Service as kube-apiserver does."""
    metadata = {"name": name, "namespace": namespace, "annotations": spec.pop("annotations", None)}
    status = {"loadBalancer": {"ingress": spec.pop("given", None)}}
    spec = {"clusterIP": "10.0.0.9", "selector": {"app": "web"}, "type": "ClusterIP"} | spec
    return {"metadata": metadata, "spec": spec, "status": status}


def parse(item: dict[str, Any]) -> ExposedService | None:
    """Read it."""
    return parse_exposing(msgspec.json.encode(item))


def balancer(annotations: dict[str, str], *given_: dict[str, str]) -> ExposedService | None:
    """Read a load balancer with annotations, once it has these addresses."""
    return parse(service(type="LoadBalancer", annotations=annotations, given=list(given_)))


@pytest.mark.parametrize(
    "spec",
    [
        {"type": "LoadBalancer"},
        {"type": "NodePort"},
        {"externalIPs": ["20.50.2.3"]},
        {"type": "LoadBalancer", "annotations": AZURE, "externalIPs": ["20.50.2.3"]},
    ],
)
def test_what_lets_traffic_in_is_kept(spec: dict[str, Any]) -> None:
    """By its type, or by addresses that the nodes answer, whatever else it is."""
    assert parse(service(**spec)) == ExposedService("train", "web", (("app", "web"),))


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"externalIPs": []},
        {"clusterIP": "None"},
        {"type": "LoadBalancer", "selector": None},
        {"type": "NodePort", "selector": {}},
        {"type": "ExternalName", "externalName": "example.org", "externalIPs": ["20.50.2.3"]},
    ],
)
def test_internal_or_selectorless_service_is_not_exposed(spec: dict[str, Any]) -> None:
    """A Service within the cluster, and those that have no Pods of their own."""
    assert parse(service(**spec)) is None


@pytest.mark.parametrize("annotations", [AZURE, GKE, OLD_GKE, AWS, OLD_AWS])
def test_a_load_balancer_that_its_cloud_keeps_inside_does_not_count(
    annotations: dict[str, str],
) -> None:
    """Before it has an address, and once it has a private one or AWS's name."""
    assert balancer(annotations) is None
    is_aws = annotations in (AWS, OLD_AWS)
    assert balancer(annotations, NAMED if is_aws else PRIVATE_ADDRESS) is None


@pytest.mark.parametrize("annotations", [AZURE, GKE, OLD_GKE, AWS, OLD_AWS])
def test_the_annotation_of_another_cloud_hides_nothing(annotations: dict[str, str]) -> None:
    """It has no effect there; what the load balancer got tells."""
    is_aws = annotations in (AWS, OLD_AWS)
    assert balancer(annotations, PRIVATE_ADDRESS if is_aws else NAMED) is not None
    assert balancer(annotations, PUBLIC_ADDRESS) is not None
    assert balancer(annotations, PRIVATE_ADDRESS, PUBLIC_ADDRESS) is not None
    assert balancer(annotations, {"ip": "nonsense"}) is not None


@pytest.mark.parametrize(
    "annotations",
    [
        {next(iter(AZURE)): "True"},
        {next(iter(AZURE)): "false"},
        {next(iter(GKE)): "External"},
        GKE | {next(iter(OLD_GKE)): "External"} | {next(iter(GKE)): "External"},
        {next(iter(GKE)): "External"} | OLD_GKE,
        OLD_AWS | PUBLIC_AWS,
        {next(iter(OLD_AWS)): "false"},
    ],
)
def test_what_does_not_keep_it_inside_counts(annotations: dict[str, str]) -> None:
    """Words that the cloud does not take, and what a stronger annotation overrules."""
    assert balancer(annotations) is not None


@pytest.mark.parametrize(
    ("broken", "field"),
    [
        ({"metadata": {"name": ""}, "spec": {}}, "metadata.name"),
        ({"metadata": {"name": "web"}}, "spec"),
        (service(type=5), "spec.type"),
        (service(selector={"app": 5}), "spec.selector[...]"),
        (service(externalIPs="20.50.2.3"), "spec.externalIPs"),
    ],
)
def test_a_broken_one_is_an_error_that_names_the_field(broken: dict[str, Any], field: str) -> None:
    """Never taken for a Service that lets nothing in."""
    with pytest.raises(InvalidObjectError) as caught:
        parse(broken)
    assert (caught.value.what, field in str(caught.value)) == ("Service", True)


KEYS = st.sampled_from(["app", "tier", "job"])
VALUES = st.sampled_from(["a", "b", ""])
LABELS = st.dictionaries(KEYS, VALUES)
SERVICES = st.lists(
    st.tuples(
        st.sampled_from(["s1", "s2", "s3", "s4"]),
        st.sampled_from(["train", "serve"]),
        st.sampled_from(["ClusterIP", "NodePort", "LoadBalancer"]),
        st.none() | LABELS,
    ),
    max_size=8,
    unique_by=lambda each: each[:2],
)


@given(made=SERVICES, labels=LABELS)
def test_those_that_select_a_pod_are_named(
    made: list[tuple[str, str, str, dict[str, str] | None]], labels: dict[str, str]
) -> None:
    """Sorted; of this namespace alone; all labels of a selector, and no empty selector."""
    read = [
        parse(service(name, namespace, type=kind, selector=selector))
        for name, namespace, kind, selector in made
    ]
    known = Services(each for each in read if each)
    for namespace in ("train", "serve", "none"):
        plain = sorted(
            name
            for name, where, kind, selector in made
            if where == namespace
            and kind != "ClusterIP"
            and selector
            and set(selector.items()) <= set(labels.items())
        )
        assert known.exposing_services(namespace, labels) == tuple(plain)


async def test_a_broken_one_is_left_out_loudly(
    connection: Connection, server: ScriptedServer
) -> None:
    """The others are known; the log names the field and no value."""
    found = [service("sound", type="NodePort"), service("broken", type=["s3cret"])]
    listed = {"metadata": {"resourceVersion": "1"}, "items": found}
    server.answers = [reply(listed), stream(then="hang")]
    services = WatchedServices(connection, LiveSettings())
    with pytest.raises(NotSyncedError, match="watch of Services: first list not finished"):
        services.exposing_services("train", {})

    def known() -> bool:
        try:
            return services.exposing_services("train", {"app": "web"}) == ("sound",)
        except NotSyncedError:
            return False

    with capture_logs() as logs:
        async with in_background(services.run()):
            await eventually(known)
    assert [log["log_level"] for log in logs] == ["error"]
    assert "spec.type" in str(logs)
    assert "s3cret" not in str(logs)
