"""`approvals.profiles`: the setting, and the webhook without which it would say nothing."""

import pytest
import yaml

from tests.harness.programs.helm import IMAGE, Helm


@pytest.mark.parametrize("on", [True, False])
def test_setting_and_webhook_come_together(helm: Helm, *, on: bool) -> None:
    """Off by default: while no gate runs, no profile could be changed."""
    values = {**IMAGE, **({"approvals": {"profiles": True}} if on else {})}
    items = [item for item in yaml.safe_load_all(helm.template(values)) if item]
    webhooks = {
        webhook["name"]: webhook
        for item in items
        if item["kind"] == "ValidatingWebhookConfiguration"
        for webhook in item.get("webhooks") or ()
    }
    settings = [
        yaml.safe_load(text)
        for item in items
        if item["kind"] == "ConfigMap" and "gate" in item["metadata"]["name"]
        for text in item["data"].values()
    ]
    assert [each["approvals"]["profiles"] for each in settings] == [on]
    assert ("profiles.sallyport.dev" in webhooks) is on
    if on:
        guards, found = webhooks["guards.sallyport.dev"], webhooks["profiles.sallyport.dev"]
        (rule,) = found["rules"]
        assert (rule["resources"], rule["operations"]) == (
            ["containerprofiles"],
            ["CREATE", "UPDATE"],
        )
        same = guards.keys() - {"name", "rules"}
        assert {key: found[key] for key in same} == {key: guards[key] for key in same}
