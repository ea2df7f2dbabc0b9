"""As whom a Pod can sign in, and which blobs it mounts, as its life is recorded."""

from typing import Any

import msgspec
import pytest

from control.weights.pod_lifecycle.documents import PodSignReader, PodSigns
from core.base.errors import NotSyncedError
from core.cluster import AccountSignIn
from core.kubernetes.persistent_volumes import PersistentVolume
from core.kubernetes.spec_digest import spec_digest
from kube.weights.pod_lifecycle import read_pod_lifecycle

ANNOTATED = "0b3c1d5e-1111-4222-8333-944445555666"
NAMED = "1b3c1d5e-1111-4222-8333-944445555666"


def sign_in(namespace: str, name: str) -> AccountSignIn | None:
    """Return as whom the one service account signs in."""
    return (
        AccountSignIn(ANNOTATED.upper(), "") if (namespace, name) == ("train", "trainer") else None
    )


def claimed(claim: str) -> tuple[PersistentVolume, ...]:
    """Return the volumes of a claim: none."""
    assert claim.startswith("train/")
    return ()


SIGNS = PodSignReader(sign_in, claimed, lambda _: None)


def signs(labels: dict[str, str] | None = None, account: str = "trainer", **spec: Any) -> PodSigns:
    """Return the signs of a Pod."""
    main = {"name": "main", "image": "example.com/train:1", "env": spec.pop("env", [])}
    meta = {
        "name": "llm-0",
        "namespace": "train",
        "uid": "3f0c7d5e-1111-4222-8333-944445555666",
        "creationTimestamp": "2026-10-01T10:00:00Z",
        "labels": labels or {},
    }
    whole = {
        "metadata": meta,
        "spec": {"serviceAccountName": account, "containers": [main], **spec},
    }
    raw = msgspec.Raw(msgspec.json.encode(whole))
    return SIGNS(read_pod_lifecycle(raw), raw)


USE = {"azure.workload.identity/use": "true"}


def test_the_service_accounts_client_id_counts_where_the_pod_takes_a_token() -> None:
    """In lower case; a Pod that takes none signs in as nobody."""
    assert signs(USE).client_ids == (ANNOTATED,)
    assert signs(USE, "other").client_ids == ()
    assert signs() == PodSigns()


def test_what_a_container_names_itself_counts_too() -> None:
    """Beside the service account's."""
    env = [{"name": "AZURE_CLIENT_ID", "value": NAMED}]
    assert signs(USE, env=env).client_ids == (ANNOTATED, NAMED)


def test_mounted_blobs_are_recorded() -> None:
    """Whatever the case in which the driver's attributes are written; a Secret may say another."""
    attributes = {"StorageAccount": "Frontier", "containerName": "weights"}
    volume = {
        "name": "w",
        "csi": {"driver": "blob.csi.azure.com", "volumeAttributes": attributes},
    }
    assert signs(volumes=[volume]).volumes == ("/weights", "frontier/weights")


def test_a_pod_that_cannot_be_read_has_no_signs_and_a_life_all_the_same() -> None:
    """One odd Pod keeps nobody from recording the others."""
    assert signs(USE, env="none") == PodSigns()


def test_nothing_is_recorded_before_it_is_known_who_signs_in_as_whom() -> None:
    """Else a Pod would be recorded as signing in as nobody."""

    def unknown(namespace: str, name: str) -> AccountSignIn | None:
        raise NotSyncedError(f"{namespace}/{name}")

    found = PodSignReader(unknown, claimed, lambda _: None)
    meta = {
        "name": "a",
        "uid": "3f0c7d5e-1111-4222-8333-944445555666",
        "creationTimestamp": "2026-10-01T10:00:00Z",
        "labels": USE,
    }
    raw = msgspec.Raw(msgspec.json.encode({"metadata": meta, "spec": {"containers": []}}))
    with pytest.raises(NotSyncedError):
        found(read_pod_lifecycle(raw), raw)


@pytest.mark.parametrize(
    ("shown", "is_as_created"),
    [
        pytest.param({}, True, id="just-created"),
        pytest.param({"generation": 1, "scheduled": "False"}, True, id="waits-for-a-node"),
        pytest.param({"generation": 1, "scheduled": "True"}, False, id="has-got-a-node"),
        pytest.param({"generation": 2}, False, id="its-image-was-changed"),
    ],
)
def test_the_digest_of_a_spec_that_changed_since_the_creation_is_not_recorded(
    shown: dict[str, Any], *, is_as_created: bool
) -> None:
    """`control` was away: another digest than the decision's would speak against an honest one."""
    meta = {
        "name": "llm-0",
        "namespace": "train",
        "uid": "3f0c7d5e-1111-4222-8333-944445555666",
        "creationTimestamp": "2026-10-01T10:00:00Z",
        "annotations": {"sallyport.dev/requester": "oid:a"},
        "generation": shown.get("generation", 1),
    }
    conditions = [{"type": "PodScheduled", "status": shown.get("scheduled", "False")}]
    raw = msgspec.Raw(
        msgspec.json.encode(
            {"metadata": meta, "spec": {"containers": []}, "status": {"conditions": conditions}}
        )
    )
    pod = read_pod_lifecycle(raw)
    assert pod.requester == "oid:a"
    assert SIGNS(pod, raw).digest == (spec_digest(raw) if is_as_created else "")
