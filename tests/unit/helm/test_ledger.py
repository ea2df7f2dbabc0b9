"""The chart's values of the ledger: what bounds it."""

from pathlib import Path

import pytest

from tests.harness.programs.helm import Helm, HelmFailedError, Values
from tests.unit.helm.test_settings_files import settings_of


@pytest.mark.parametrize(
    ("ledger", "most"),
    [
        ({}, 43_520),
        ({"size": "2Ti"}, 1_782_579),
        ({"size": "256Mi"}, 217),
        ({"size": "50Gi", "maxMib": 20_000}, 20_000),
        ({"existingSecret": "ledger"}, None),
        ({"existingSecret": "ledger", "maxMib": 200_000}, 200_000),
    ],
)
def test_the_budget_is_of_the_volume_unless_it_is_said(
    helm: Helm, tmp_path: Path, ledger: Values, most: int | None
) -> None:
    """85 % of it; of a database nobody knows how large its disk is."""
    objects = helm.objects({"auditor": {"ledger": ledger}})
    assert settings_of(objects, "auditor", tmp_path).ledger.max_mib == most


def test_a_volume_that_is_too_small_is_refused(helm: Helm) -> None:
    """With what to give."""
    with pytest.raises(HelmFailedError, match=r"auditor\.ledger\.size: 100Mi: give 256Mi"):
        helm.template({"auditor": {"ledger": {"size": "100Mi"}}})
