"""The module of the Azure side says what it takes, pins what it needs, and leaves no way open."""

import re
from collections.abc import Iterator

from tests.harness.hcl import Block, File

_ROLES = {
    '"Azure Event Hubs Data Receiver"',
    '"Storage Blob Data Reader"',
}
"""Azure's own roles that are given; others are made in roles.tf, action by action."""


def resources(files: dict[str, File], kind: str) -> Iterator[tuple[str, Block]]:
    """Yield the resources of a kind, with what to call them."""
    for path, file in files.items():
        for one in file.body.below("resource", kind):
            yield f"{path}:{one.line} {one.labels[1]}", one


def test_each_file_is_laid_out_as_the_tools_do(files: dict[str, File]) -> None:
    """`tofu fmt -check` has nothing to say."""
    assert len(files) > 20
    assert [path for path, file in files.items() if not file.formatted] == []


def test_each_variable_says_what_it_is_and_refuses_what_it_cannot_be(
    files: dict[str, File],
) -> None:
    """Described and typed; with a check that names it, unless any bool will do; null is known."""
    variables = [
        (path, one)
        for path, file in files.items()
        for one in file.body.below("variable")
        if not path.endswith(".tftest.hcl")
    ]
    assert len(variables) > 40
    assert [f"{path}: {what}" for path, one in variables for what in missing(one)] == []


def missing(variable: Block) -> Iterator[str]:
    """Yield what a variable lacks."""
    name, checks = variable.labels[0], list(variable.below("validation"))
    has = variable.attributes
    if not {"description", "type"} <= has.keys():
        yield f"{name}: description and type"
    if not checks and has["type"] != "bool":
        yield f"{name}: validation"
    for check in checks:
        if not check.attributes["error_message"].startswith(f'"{name}'):
            yield f"{name}: the message must begin with the name (line {check.line})"
    knows_null = any(f"var.{name} == null" in one.attributes["condition"] for one in checks)
    if has.get("nullable") != "false" and not knows_null:
        yield f"{name}: nullable = false, or a check that knows null"


def test_each_output_says_what_it_is_for(files: dict[str, File]) -> None:
    """Whoever pastes one must know where."""
    outputs = [one for file in files.values() for one in file.body.below("output")]
    assert len(outputs) > 10
    assert [one.labels[0] for one in outputs if "description" not in one.attributes] == []


def test_providers_are_pinned_alike_everywhere(files: dict[str, File]) -> None:
    """One range of versions of each provider, and of the tool, in modules and examples."""
    pins: dict[str, set[str]] = {}
    for file in files.values():
        for settings in file.body.below("terraform"):
            pins.setdefault("tool", set()).add(settings.attributes["required_version"])
            for block in settings.below("required_providers"):
                for name, text in block.attributes.items():
                    pins.setdefault(name, set()).add(re.sub(r"\s+", " ", text))
    assert {name: len(found) for name, found in pins.items()} == {
        "tool": 1,
        "azuread": 1,
        "azurerm": 1,
    }
    assert all('version = "~> ' in text for name in ("azuread", "azurerm") for text in pins[name])


def test_no_account_takes_keys_or_is_open(files: dict[str, File]) -> None:
    """Entra ID signs in, and nothing is public; the account of logs is open to Azure alone."""
    never = (
        "shared_access_key_enabled local_user_enabled sftp_enabled nfsv3_enabled"
        " allow_nested_items_to_be_public cross_tenant_replication_enabled"
    )
    always = "https_traffic_only_enabled infrastructure_encryption_enabled"
    accounts = list(resources(files, "azurerm_storage_account"))
    assert len(accounts) == 3
    for name, one in accounts:
        assert {key: one.attributes.get(key) for key in never.split()} == dict.fromkeys(
            never.split(), "false"
        ), name
        assert {one.attributes.get(key) for key in always.split()} == {"true"}, name
        assert one.attributes["min_tls_version"] == '"TLS1_2"', name
        (rules,) = one.below("network_rules")
        assert rules.attributes["default_action"] == '"Deny"', name
        assert "ip_rules" not in rules.attributes, name
        for_azure = rules.attributes["bypass"] == '["AzureServices"]'
        assert one.attributes["public_network_access_enabled"] == str(for_azure).lower(), name
        assert for_azure is ("modules/logs" in name), name


def test_every_container_is_private(files: dict[str, File]) -> None:
    """Nobody reads one without signing in."""
    found = dict(resources(files, "azurerm_storage_container"))
    assert len(found) == 3
    kinds = {one.attributes.get("container_access_type") for one in found.values()}
    assert kinds == {'"private"'}


def test_rules_of_event_hubs_send_and_nothing_else(files: dict[str, File]) -> None:
    """Azure Monitor's key reads nothing; whoever reads signs in."""
    ((name, rule),) = resources(files, "azurerm_eventhub_namespace_authorization_rule")
    rights = {key: rule.attributes[key] for key in ("send", "listen", "manage")}
    assert rights == {"send": "true", "listen": "false", "manage": "false"}, name
    ((name, namespace),) = resources(files, "azurerm_eventhub_namespace")
    assert namespace.attributes["public_network_access_enabled"] == "false", name
    assert namespace.attributes["minimum_tls_version"] == '"1.2"', name
    assert list(resources(files, "azurerm_eventhub_authorization_rule")) == []


def test_nothing_that_lasts_is_made_to_sign_in_with(files: dict[str, File]) -> None:
    """No password, no certificate, no SAS: applications sign in by their clusters' tokens alone."""
    made = {
        one.labels[0]
        for file in files.values()
        for one in file.body.blocks
        if one.type in {"resource", "data"}
    }
    assert "azuread_application_federated_identity_credential" in made
    lasting = re.compile("password|certificate|_sas$|secret|key_vault")
    assert [kind for kind in sorted(made) if lasting.search(kind)] == []
    blocks = {
        inner.type for _, one in resources(files, "azuread_application") for inner in one.deep()
    }
    assert "password" not in blocks


def test_no_permission_is_a_pattern_and_no_role_is_wide(files: dict[str, File]) -> None:
    """Each action is named; of Azure's own roles only two that read data."""
    actions = [
        (path, text)
        for path, file in files.items()
        for one in file.body.deep()
        for name, text in one.attributes.items()
        if name in {"actions", "data_actions", "not_actions", "not_data_actions"}
    ]
    assert len(actions) == 4
    assert [path for path, text in actions if "*" in text or "not" in text.split()] == []
    given = {
        one.attributes["role_definition_name"]
        for _, one in resources(files, "azurerm_role_assignment")
        if "role_definition_name" in one.attributes
    }
    assert given == _ROLES
