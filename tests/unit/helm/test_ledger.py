"""The chart's values of the ledger: what bounds it."""

from pathlib import Path
from typing import Any

import pytest

from tests.harness.programs.helm import Helm, HelmFailedError, Values, pod_templates
from tests.unit.helm.switches import GUID
from tests.unit.helm.test_settings_files import settings_of


@pytest.mark.parametrize(
    ("ledger", "most"),
    [
        ({}, None),
        ({"size": "2Ti"}, None),
        ({"size": "50Gi", "maxMib": 20_000}, 20_000),
        ({"existingSecret": "ledger"}, None),
        ({"existingSecret": "ledger", "maxMib": 200_000}, 200_000),
    ],
)
def test_the_budget_is_measured_unless_it_is_said(
    helm: Helm, tmp_path: Path, ledger: Values, most: int | None
) -> None:
    """Never of `size`: an enlarged volume has more, and an upgrade would remove all refusals."""
    objects = helm.objects({"auditor": {"ledger": ledger}})
    assert settings_of(objects, "auditor", tmp_path).ledger.max_mib == most


def test_a_volume_that_is_too_small_is_refused(helm: Helm) -> None:
    """With what to give."""
    with pytest.raises(HelmFailedError, match=r"auditor\.ledger\.size: 100Mi: give 256Mi"):
        helm.template({"auditor": {"ledger": {"size": "100Mi"}}})


ENTRA: Values = {
    "auditor": {
        "ledger": {
            "caSecret": "azure-postgres-ca",
            "entra": {"server": "ledger.postgres.database.azure.com", "user": "sallyport auditor"},
        }
    },
    "weights": {"signIn": {"tenant": GUID, "clientId": GUID}},
}


def auditor(helm: Helm, values: Values) -> dict[str, Any]:
    """Return the auditor's Pod."""
    spec: dict[str, Any] = pod_templates(helm.objects(values))["sallyport-auditor"]
    return spec


def test_cloudnativepg_s_secret_is_taken_as_it_is(helm: Helm) -> None:
    """Its `uri`, and its CA by which the server is verified; no volume is made."""
    ledger = {"existingSecret": "pg-app", "secretKey": "uri", "caSecret": "pg-ca"}
    template = auditor(helm, {"auditor": {"ledger": ledger}})
    (container,) = template["spec"]["containers"]
    assert container["env"] == [
        {
            "name": "SALLYPORT_LEDGER__URL",
            "valueFrom": {"secretKeyRef": {"name": "pg-app", "key": "uri"}},
        },
        {"name": "PGSSLMODE", "value": "verify-full"},
        {"name": "PGSSLROOTCERT", "value": "/etc/sallyport/database/ca.crt"},
    ]
    volumes = {each["name"]: each for each in template["spec"]["volumes"]}
    assert volumes["database-ca"]["secret"]["secretName"] == "pg-ca"
    assert "tmp" not in volumes


def test_azures_server_is_signed_in_at_with_tokens(helm: Helm, tmp_path: Path) -> None:
    """As the workload's identity; the URL has no password."""
    objects = helm.objects(ENTRA)
    settings = settings_of(objects, "auditor", tmp_path)
    assert settings.ledger.sign_in == "entra"
    assert settings.ledger.url is not None
    assert settings.ledger.url.get_secret_value() == (
        "postgresql://sallyport%20auditor@ledger.postgres.database.azure.com:5432/sallyport"
    )
    assert settings.identity.client_id == GUID
    (container,) = auditor(helm, ENTRA)["spec"]["containers"]
    mounts = {each["name"] for each in container["volumeMounts"]}
    assert {"entra-token", "database-ca"} <= mounts
    assert "ledger" not in mounts


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"caSecret": ""}, "auditor.ledger.caSecret: missing"),
        (
            {"existingSecret": "ledger"},
            "auditor.ledger.entra.server: auditor",
        ),
        ({"entra": {"server": "a.example", "user": ""}}, "auditor.ledger.entra.user: missing"),
    ],
)
def test_half_of_a_sign_in_is_refused(helm: Helm, changes: Values, says: str) -> None:
    """With what to give."""
    ledger = {**ENTRA["auditor"]["ledger"], **changes}
    with pytest.raises(HelmFailedError, match=says):
        helm.template({**ENTRA, "auditor": {"ledger": ledger}})
