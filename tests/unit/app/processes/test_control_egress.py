"""How the loops of egress are put together from the settings."""

from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from app.processes.control.egress import enrolled_labels, make_egress
from app.settings.egress import EgressSection, enrolment_of
from app.settings.root import Settings
from audit.ledger.records.recorder import LedgerRecorder
from control.egress.loop import Egress
from core.base import names
from core.base.errors import SettingsError
from core.decision.namespaces import Namespace
from core.kubernetes.label_selectors import matches
from kube.client.connection import Connection
from kube.client.objects import Objects
from kube.client.settings import LiveSettings
from kube.cluster.access_reviews import AccessReviews
from kube.cluster.folder import FolderCluster
from kube.egress.watch import EgressWatch
from tests.unit.control.egress.test_dns_pods import Pods, pod
from tests.unit.control.egress.test_dns_refresh import LEADER

LOG = {"server_name": "kube-dns.example", "ca": "/c/ca", "cert": "/c/crt", "key": "/c/key"}


def test_the_floor_is_for_the_namespaces_that_are_enrolled() -> None:
    """It closes none that is not; beside the default it leaves out what only its label enrols."""
    for default in ("open", "deny"):
        section = EgressSection.model_validate({"default": default, "excluded": ["left-out"]})
        enrolment, labels = enrolment_of(section, "own"), enrolled_labels(section, "own")
        for name in ("own", "kube-system", "left-out", "team"):
            for word in ("", "open", "deny", "denied"):
                marks = {names.EGRESS_LABEL: word} if word else {}
                closed = matches(labels, {**marks, names.NAMESPACE_NAME_LABEL: name})
                enrolled = enrolment.enrols(Namespace(name, marks))
                apart = default == "deny" and name in enrolment.excluded
                assert closed == (enrolled and not apart), (default, name, word)


async def test_logs_of_dns_are_followed_only_where_they_are_set(tmp_path: Path) -> None:
    """At the Pods that are found to ask them for names."""
    for section, follows in (({"dns_log": LOG}, True), ({}, False)):
        egress = _egress(tmp_path, section, Pods({}))
        found = [each.name for each in egress.loops]
        assert ("egress-dns-logs" in found) is follows
        assert "egress-dns-pods" in found


async def test_the_logs_of_the_pods_that_are_found_are_followed(tmp_path: Path) -> None:
    """One of each Pod."""
    pods = Pods({"kube-system": [pod("a", "127.0.0.9", "::9"), pod("b", "127.0.0.8")]})
    egress = _egress(tmp_path, {"dns_log": LOG}, pods)
    assert egress.dns_pods
    assert egress.dns_logs
    await egress.dns_pods.run(LEADER)
    await egress.dns_logs.run(LEADER)
    assert set(egress.dns_logs._followed) == {"127.0.0.8", "127.0.0.9"}  # noqa: SLF001
    egress.dns_logs.forget()


async def test_a_log_that_cannot_be_read_is_refused_at_start(tmp_path: Path) -> None:
    """The message names the setting."""
    with pytest.raises(SettingsError, match=r"egress\.dns_log\.ca: missing"):
        _egress(tmp_path, {"dns_log": {"server_name": "kube-dns.example"}}, Pods({}))


async def test_what_ends_in_use_is_recorded_where_anything_is(tmp_path: Path) -> None:
    """With the recorder of the process."""
    recorder = LedgerRecorder(None, lambda: "prod", lambda _: "")
    for given in (recorder, None):
        egress = _egress(tmp_path, {}, Pods({}), given)
        assert egress.endings
        assert egress.endings.recorder is given


def _egress(
    folder: Path,
    section: dict[str, Any],
    objects: Objects,
    recorder: LedgerRecorder | None = None,
) -> Egress:
    servers = {"resolver": {"servers": ["192.0.2.53"]}}
    settings = Settings.model_validate({"cluster": folder, "egress": {**servers, **section}})
    connection = Connection(None)
    cluster = FolderCluster(folder)
    world = EgressWatch(connection, LiveSettings())
    ask = AccessReviews(connection, LiveSettings()).ask
    return make_egress(settings, objects, world, cluster, ask, CollectorRegistry(), recorder)
