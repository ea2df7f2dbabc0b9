"""Lists of connections, in cases of our own: who is a row, what is left out, what differs.

The cases have the shape of those of netpol-analyzer: manifests, and the lines that are expected
(https://github.com/np-guard/netpol-analyzer, `tests` and `test_outputs/connlist`).
"""

from typing import Any

import pytest

from core.base.errors import InvalidObjectError
from egress.analysis.connectivity import judge_connectivity
from egress.analysis.connectivity_report import compare_connectivity, report_connectivity
from egress.analysis.policy_cluster import read_policy_cluster
from tests.unit.egress.analysis.network_objects import (
    Json,
    judged,
    manifests,
    named_ports,
    namespace,
    network_policy,
    pod,
    workload,
)

WEB = {"matchLabels": {"app": "web"}}
DB = {"matchLabels": {"app": "db"}}
APPS = (
    workload("Deployment", "shop/web", {"app": "web"}),
    workload("StatefulSet", "shop/db", {"app": "db"}),
)
DENY = network_policy("shop/deny", policyTypes=["Ingress", "Egress"])
OUTSIDE = "0.0.0.0-255.255.255.255[External]"


def lines(*values: Json) -> list[str]:
    """Return rows as lines; those of IPv6 outside, which say the same here, left out."""
    report = report_connectivity(*judged(*values))
    return [
        f"{row.src} => {row.dst} : {row.conn}" + (f" / {row.by_address}" if row.by_address else "")
        for row in report.connections
        if not row.src.startswith("::") and not row.dst.startswith("::")
    ]


def test_without_policies_all_is_open() -> None:
    """Between workloads, between the Pods of each, and to and from outside; and it is said."""
    assert lines(*APPS) == [
        f"{OUTSIDE} => shop/db[StatefulSet] : All Connections",
        f"{OUTSIDE} => shop/web[Deployment] : All Connections",
        f"shop/db[StatefulSet] => {OUTSIDE} : All Connections",
        "shop/db[StatefulSet] => shop/db[StatefulSet] : All Connections",
        "shop/db[StatefulSet] => shop/web[Deployment] : All Connections",
        f"shop/web[Deployment] => {OUTSIDE} : All Connections",
        "shop/web[Deployment] => shop/db[StatefulSet] : All Connections",
        "shop/web[Deployment] => shop/web[Deployment] : All Connections",
    ]
    report = report_connectivity(*judged(*APPS))
    assert (report.complete, report.notes) == (True, ["no NetworkPolicy is there: all is open"])


def test_a_connection_must_be_let_out_and_in() -> None:
    """Ports are those that both sides allow."""
    out = network_policy(
        "shop/out",
        WEB,
        policyTypes=["Egress"],
        egress=[{"to": [{"podSelector": DB}], "ports": [{"port": 5430, "endPort": 5440}]}],
    )
    into = network_policy(
        "shop/in",
        DB,
        ingress=[{"from": [{"podSelector": WEB}], "ports": [{"port": 5432}, {"port": 9000}]}],
    )
    assert lines(*APPS, DENY, out) == []
    assert lines(*APPS, DENY, out, into) == [
        "shop/web[Deployment] => shop/db[StatefulSet] : TCP 5432"
    ]


def test_blocks_are_cut_where_policies_cut_them() -> None:
    """A range for each set of ports, and no row for what is closed."""
    out = network_policy(
        "shop/out",
        WEB,
        egress=[
            {"to": [{"ipBlock": {"cidr": "192.0.2.0/24", "except": ["192.0.2.128/25"]}}]},
            {
                "to": [{"ipBlock": {"cidr": "192.0.2.0/23"}}],
                "ports": [{"port": 53, "protocol": "UDP"}, {"port": 443}],
            },
        ],
    )
    assert lines(APPS[0], DENY, out) == [
        "shop/web[Deployment] => 192.0.2.0-192.0.2.127[External] : All Connections",
        "shop/web[Deployment] => 192.0.2.128-192.0.3.255[External] : TCP 443,UDP 53",
    ]


def test_a_named_port_is_that_of_the_destination() -> None:
    """Each Pod has its own number under a name, or none; addresses have none."""
    rule = {"ports": [{"port": "http"}]}
    pods = (
        pod("shop/one", {"app": "web"}, containers=named_ports(("http", "TCP", 8080))),
        pod("shop/two", {"app": "db"}, containers=named_ports(("http", "TCP", 80))),
        pod("shop/none", {"app": "none"}),
    )
    both = network_policy(
        "shop/http", policyTypes=["Ingress", "Egress"], ingress=[rule], egress=[rule]
    )
    assert lines(*pods, both) == [
        f"{OUTSIDE} => shop/one[Pod] : TCP 8080",
        f"{OUTSIDE} => shop/two[Pod] : TCP 80",
        "shop/none[Pod] => shop/one[Pod] : TCP 8080",
        "shop/none[Pod] => shop/two[Pod] : TCP 80",
        "shop/one[Pod] => shop/two[Pod] : TCP 80",
        "shop/two[Pod] => shop/one[Pod] : TCP 8080",
    ]


def _owned(name: str, labels: Json, *addresses: str) -> Json:
    made = pod(f"shop/{name}", labels, *addresses)
    owner = {"kind": "ReplicaSet", "name": "web-1", "controller": True}
    made["metadata"]["ownerReferences"] = [owner]
    return made


def test_pods_of_one_owner_are_one_workload() -> None:
    """While no policy tells them apart; labels that none selects by do not matter."""
    pods = [_owned(f"web-1-{at}", {"app": "web", "at": str(at)}) for at in range(3)]
    into = network_policy("shop/in", WEB, ingress=[{"from": [{"podSelector": WEB}]}])
    shown = [line for line in lines(*pods, into, DENY, _allow_out()) if OUTSIDE not in line]
    assert shown == ["shop/web-1[ReplicaSet] => shop/web-1[ReplicaSet] : All Connections"]


def test_pods_that_policies_tell_apart_are_named_one_by_one() -> None:
    """By a label that differs, or by an address in a block."""
    pods = [_owned("a", {"app": "web"}, "192.0.2.1"), _owned("b", {"app": "db"}, "192.0.2.2")]
    into = network_policy("shop/in", WEB, ingress=[])
    assert "shop/b[Pod] => shop/a[Pod] : All Connections" not in lines(*pods, into)
    assert "shop/a[Pod] => shop/b[Pod] : All Connections" in lines(*pods, into)
    alike = [_owned("a", {}, "192.0.2.1"), _owned("b", {}, "192.0.2.2")]
    block = {"ipBlock": {"cidr": "192.0.2.1/32"}}
    shown = lines(*alike, network_policy("shop/in", ingress=[{"from": [block]}]))
    assert "shop/a[Pod] => shop/b[Pod] : No Connections / All Connections" in shown


def _allow_out() -> Json:
    return network_policy("shop/out", egress=[{}], policyTypes=["Egress"])


def test_selectors_of_any_size_are_judged() -> None:
    """Kubernetes limits neither the values of an expression nor the labels of a selector."""
    values = [f"app-{at}" for at in range(500)]
    expression = {"key": "app", "operator": "NotIn", "values": [*values, "web"]}
    labels = {f"label-{at}": "x" for at in range(40)}
    not_web = network_policy(
        "shop/in", DB, ingress=[{"from": [{"podSelector": {"matchExpressions": [expression]}}]}]
    )
    many = workload("Deployment", "shop/many", labels)
    closed = network_policy("shop/closed", {"matchLabels": labels}, ingress=[])
    shown = [line for line in lines(*APPS, many, not_web, closed) if "External" not in line]
    assert "shop/web[Deployment] => shop/db[StatefulSet] : All Connections" not in shown
    assert "shop/many[Deployment] => shop/db[StatefulSet] : All Connections" in shown
    assert not [line for line in shown if "=> shop/many" in line]


def test_finished_pods_connect_to_nothing() -> None:
    """Those that have succeeded or failed are no rows."""
    done = pod("shop/done")
    done["status"]["phase"] = "Succeeded"
    assert lines(done, pod("shop/one")) == lines(pod("shop/one"))


def test_a_block_may_hold_pods_on_some_engines() -> None:
    """Then both answers are given, also for Pods whose addresses are not known."""
    out = network_policy(
        "shop/out",
        WEB,
        egress=[{"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}], "ports": [{"port": 80}]}],
    )
    assert "shop/web[Deployment] => shop/db[StatefulSet] : No Connections / TCP 80" in lines(
        *APPS, out
    )
    public = network_policy(
        "shop/out", WEB, egress=[{"to": [{"ipBlock": {"cidr": "203.0.113.0/24"}}]}]
    )
    assert not [line for line in lines(*APPS, public) if "/ " in line]


def test_pods_on_their_nodes_network_are_nodes_on_some_engines() -> None:
    """There no policy holds them, and no selector selects them."""
    pods = (pod("shop/web", {"app": "web"}, "10.0.0.1"), pod("shop/host", {}, hostNetwork=True))
    into = network_policy("shop/in", WEB, ingress=[{"from": [{"podSelector": {}}]}])
    found = [line for line in lines(*pods, into, DENY, _allow_out()) if OUTSIDE not in line]
    assert found == [
        "shop/host[Pod] => shop/web[Pod] : All Connections / No Connections",
        "shop/web[Pod] => shop/host[Pod] : No Connections / All Connections",
    ]


@pytest.mark.parametrize(
    ("group", "kind"),
    [
        ("policy.networking.k8s.io/v1alpha1", "AdminNetworkPolicy"),
        ("policy.networking.k8s.io/v1alpha2", "ClusterNetworkPolicy"),
        ("cilium.io/v2", "CiliumNetworkPolicy"),
        ("crd.projectcalico.org/v1", "NetworkPolicy"),
        ("projectcalico.org/v3", "GlobalNetworkPolicy"),
        ("sallyport.dev/v1alpha1", "EgressAllowlist"),
    ],
)
def test_policies_of_other_kinds_are_named_and_make_it_incomplete(group: str, kind: str) -> None:
    """They are not judged, so more or less may be open."""
    other = {"apiVersion": group, "kind": kind, "metadata": {"name": "other"}}
    report = report_connectivity(*judged(*APPS, other))
    assert not report.complete
    assert report.not_judged == [
        f"not judged: all.yaml#3: {kind} other ({group.split('/', maxsplit=1)[0]})"
    ]


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"egress": [{"to": [{}]}]}, "spec.egress[0].to[0]"),
        ({"egress": [{"to": [{"ipBlock": {"cidr": "x"}}]}]}, "spec.egress[0].to[0].ipBlock.cidr"),
        (
            {"ingress": [{"from": [{"ipBlock": {"cidr": "::/0", "except": ["y"]}}]}]},
            "spec.ingress[0].from[0].ipBlock.except[0]",
        ),
        (
            {"ingress": [{"from": [{"ipBlock": {"cidr": "::/0"}, "podSelector": {}}]}]},
            "spec.ingress[0].from[0]",
        ),
        ({"egress": [{"ports": [{"port": 9, "endPort": 8}]}]}, "spec.egress[0].ports[0].port"),
        ({"egress": [{"ports": [{"endPort": 8}]}]}, "spec.egress[0].ports[0].endPort"),
        ({"egress": [{"ports": [{"port": "a", "endPort": 8}]}]}, "spec.egress[0].ports[0].endPort"),
        ({"egress": [{"ports": [{"port": 70_000}]}]}, "spec.egress[0].ports[0].port"),
        ({"policyTypes": ["Out"]}, "spec.policyTypes[0]"),
        ({"egress": "all"}, "spec.egress"),
    ],
)
def test_a_broken_policy_is_named_with_its_field_and_ends_nothing(
    spec: dict[str, Any], field: str
) -> None:
    """The rest is judged."""
    report = report_connectivity(*judged(*APPS, network_policy("shop/bad", **spec)))
    assert not report.complete
    assert len(report.connections) == 12
    [told] = report.not_judged
    assert told.startswith(f"broken, and left out: all.yaml#3: NetworkPolicy: {field}: ")


def test_what_is_no_yaml_or_there_twice_is_named() -> None:
    """The first of two counts."""
    error = InvalidObjectError("b.yaml, line 2", "", "is no YAML")
    cluster = read_policy_cluster([*manifests([*APPS, APPS[0]]), error])
    found = report_connectivity(cluster, judge_connectivity(cluster))
    assert found.workloads == ["shop/db[StatefulSet]", "shop/web[Deployment]"]
    assert found.not_judged == [
        "broken, and left out: all.yaml#3: Deployment: metadata.name: 'web' is there twice, and "
        "the first counts: all.yaml#1",
        "broken, and left out: b.yaml, line 2: is no YAML",
    ]


def test_labels_of_namespaces_that_are_not_there_are_not_known() -> None:
    """It is said where some policy selects by them; names are known without."""
    by_label = {"namespaceSelector": {"matchLabels": {"team": "x"}}}
    by_name = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "shop"}}}
    named = network_policy("shop/in", ingress=[{"from": [by_name]}])
    assert report_connectivity(*judged(*APPS, named)).complete
    labelled = network_policy("shop/in", ingress=[{"from": [by_label]}])
    report = report_connectivity(*judged(*APPS, labelled))
    assert (report.complete, len(report.not_judged)) == (False, 1)
    assert "labels of namespace shop" in report.not_judged[0]
    there = report_connectivity(*judged(*APPS, labelled, namespace("shop", team="x")))
    assert there.complete


def test_workloads_of_all_kinds_have_rows() -> None:
    """Those with several templates one each, those of unknown kinds by their shape."""
    template = {"metadata": {"labels": {}}, "spec": {"containers": [{"name": "m", "image": "i"}]}}
    replicas = ("Master", "Worker")
    job: Json = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "train", "namespace": "ml"},
        "spec": {"pytorchReplicaSpecs": {each: {"template": template} for each in replicas}},
    }
    rollout = {
        "apiVersion": "example.org/v1",
        "kind": "Rollout",
        "metadata": {"name": "web", "namespace": "ml"},
        "spec": {"template": template},
    }
    assert report_connectivity(*judged(job, rollout)).workloads == [
        "ml/train[PyTorchJob spec.pytorchReplicaSpecs.Master.template]",
        "ml/train[PyTorchJob spec.pytorchReplicaSpecs.Worker.template]",
        "ml/web[Rollout]",
    ]


def test_diff_tells_connections_and_not_texts() -> None:
    """A policy that is written otherwise changes nothing."""
    one = network_policy("shop/in", DB, ingress=[{"from": [{"podSelector": WEB}]}])
    halves = [{"from": [{"podSelector": WEB}]}, {"from": [{"podSelector": WEB}], "ports": []}]
    other = network_policy("shop/other", DB, ingress=halves)
    assert compare_connectivity(judged(*APPS, one), judged(*APPS, other)).changes == []


def test_diff_tells_what_opens_closes_and_changes() -> None:
    """Addresses are cut where either cuts them; workloads that come or go are named."""
    narrow = network_policy("shop/out", WEB, egress=[{"ports": [{"port": 443}]}])
    holes = {"ipBlock": {"cidr": "0.0.0.0/0", "except": ["10.0.0.0/8"]}}
    wide = network_policy("shop/out", WEB, egress=[{"to": [holes]}])
    found = compare_connectivity(judged(*APPS[:1], narrow), judged(*APPS, wide))
    shown = [
        (each.change, each.src, each.dst, each.before, each.after, each.workloads)
        for each in found.changes
        if "::" not in each.src + each.dst and "db" not in each.src and each.before != each.after
    ]
    web, db = "shop/web[Deployment]", "shop/db[StatefulSet]"
    assert shown == [
        (
            "added",
            OUTSIDE,
            db,
            "No Connections",
            "All Connections",
            f"workload {db} added",
        ),
        ("changed", web, "0.0.0.0-9.255.255.255[External]", "TCP 443", "All Connections", ""),
        ("changed", web, "11.0.0.0-255.255.255.255[External]", "TCP 443", "All Connections", ""),
        ("removed", web, "10.0.0.0-10.255.255.255[External]", "TCP 443", "No Connections", ""),
    ]


def test_diff_goes_by_identity_where_that_differs() -> None:
    """A connection that is closed but for engines that match Pods by address is removed."""
    public, private = ({"ipBlock": {"cidr": each}} for each in ("192.0.2.0/24", "10.0.0.0/8"))
    named = network_policy("shop/out", WEB, egress=[{"to": [{"podSelector": DB}]}])
    block = network_policy("shop/out", WEB, egress=[{"to": [private]}])
    other = network_policy("shop/out", WEB, egress=[{"to": [public]}])
    ends = ("shop/web[Deployment]", "shop/db[StatefulSet]")
    for before, after, change in (
        (named, block, "removed"),
        (block, named, "added"),
        (block, other, "removed"),
        (other, block, "added"),
    ):
        found = compare_connectivity(judged(*APPS, before), judged(*APPS, after))
        assert [each.change for each in found.changes if (each.src, each.dst) == ends] == [change]


def test_diff_of_what_is_not_judged_is_incomplete() -> None:
    """Whichever of the two it is in."""
    broken = network_policy("shop/bad", egress="all")
    found = compare_connectivity(judged(*APPS), judged(*APPS, broken))
    assert not found.complete
    assert found.not_judged[0].startswith("after: broken, and left out: all.yaml#3")
