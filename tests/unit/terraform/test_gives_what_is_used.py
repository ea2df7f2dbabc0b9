"""What the module asks Entra ID and Azure for is what the code uses: no more, and no less."""

import asyncio
import json
import re
import time
from pathlib import Path
from typing import Any

from control.weights.access.reader import AccessReader
from identity.azure_roles import grant_assignments
from identity.azure_roles.differences import GrantHolders
from identity.clients.resource_manager import ResourceManager
from identity.entra.graph_requests import Resource
from tests.harness.evidence import ROOT
from tests.harness.hcl import Block, File
from tests.unit.control.weights.azure_access import asking, azure_in
from tests.unit.identity.azure_roles.roles import ACCOUNT, READER, TRAINER, store

_CHART = ROOT / "helm" / "sallyport"


def action_of(path: str, verb: str) -> str:
    """Return the action that a request needs: provider, types without names, verb."""
    provider, *rest = path.rpartition("/providers/")[2].split("/")
    return "/".join((provider, *rest[::2])) + verb


def role(files: dict[str, File], name: str) -> set[str]:
    """Return all that a role of roles.tf allows."""
    (found,) = files["roles.tf"].body.below("resource", "azurerm_role_definition", name)
    (permissions,) = found.below("permissions")
    return {one for text in permissions.attributes.values() for one in json_list(text)}


def json_list(text: str) -> list[str]:
    """Read a list of strings, as both languages write it but for a last comma."""
    found: list[str] = json.loads(re.sub(r",\s*\]$", "]", text))
    return found


def local(files: dict[str, File], path: str, name: str) -> Block:
    """Return the `locals` block of a file that has a name."""
    return next(one for one in files[path].body.below("locals") if name in one.attributes)


def test_graph_is_asked_for_what_control_asks_it(files: dict[str, File]) -> None:
    """Each permission of the code, those of guests only where guests are read."""
    text = local(files, "main.tf", "graph_permissions").attributes["graph_permissions"]
    with_risk, with_guests = text.split("var.guests", 1)
    named = re.compile(r'"([\w.]+\.All)"')
    guests = {Resource.GUESTS.permission}
    assert set(named.findall(with_guests)) == guests
    assert set(named.findall(with_risk)) == {one.permission for one in Resource} - guests


def test_control_may_read_of_a_store_what_it_reads(files: dict[str, File], tmp_path: Path) -> None:
    """The two roles together allow the actions of one reading, and no others.

    Azure compares actions without case; the fake keeps paths in lower case.
    """

    async def reading(manager: ResourceManager) -> None:
        await AccessReader(manager, time.time).read(store(), GrantHolders(), lambda: None)

    with azure_in(tmp_path) as azure:
        azure.put_account(ACCOUNT, allowSharedKeyAccess=False)
        azure.assign(ACCOUNT, azure.put_role("Reader", **READER), TRAINER)
        asyncio.run(asking(azure, reading))
    assert azure.count("GET") == len(azure.asked)
    allowed = role(files, "store_access") | role(files, "role_definitions")
    assert {action_of(path, "/read") for _, _, path in azure.asked} == set(map(str.lower, allowed))


def test_control_may_give_the_roles_that_it_gives(files: dict[str, File]) -> None:
    """Role assignments alone, and under the condition only the two of `grant_assignments`."""
    wanted = {
        f"Microsoft.Authorization/roleAssignments/{verb}" for verb in ("read", "write", "delete")
    }
    assert role(files, "grants") == wanted
    given = local(files, "roles.tf", "given_roles").attributes["given_roles"]
    assert set(given.strip('"').split(", ")) == {
        grant_assignments.READER,
        grant_assignments.CONTRIBUTOR,
    }
    (one,) = files["roles.tf"].body.below("resource", "azurerm_role_assignment", "grants")
    assert one.attributes["condition"].count("{${local.given_roles}}") == 2
    assert one.attributes["scope"].endswith(
        '/blobServices/default/containers/${each.value.container}"'
    )


def test_the_auditor_cannot_delete_an_anchor(files: dict[str, File]) -> None:
    """It reads, makes and appends."""
    blobs = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs"
    assert role(files, "anchor_writer") == {
        f"{blobs}/{one}" for one in ("read", "write", "add/action")
    }


def test_whoever_signs_in_is_an_account_of_the_chart(files: dict[str, File]) -> None:
    """The federated subjects are service accounts that the chart makes."""
    variables = files["modules/process/variables.tf"].body
    (one,) = variables.below("variable", "service_account")
    (check,) = one.below("validation")
    names = re.findall(r'"(sallyport-\w+)"', check.attributes["condition"])
    assert names == ["sallyport-control", "sallyport-auditor"]
    for name in names:
        template = _CHART / "templates" / f"{name.removeprefix('sallyport-')}-serviceaccount.yaml"
        assert f"\n  name: {name}\n" in template.read_text()


def test_the_values_are_values_of_the_chart(files: dict[str, File]) -> None:
    """Each key of `helm_values` is one that values.schema.json knows."""
    schema = json.loads((_CHART / "values.schema.json").read_text())
    keys = local(files, "outputs.tf", "helm_values").keys["helm_values"]
    assert {"clusterId", "identity", "weights", "auditor"} == keys.keys()
    assert list(unknown(keys, schema, schema)) == []


def unknown(keys: dict[str, Any], schema: dict[str, Any], root: dict[str, Any]) -> list[str]:
    """Return the paths of keys that a schema does not know."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    found = []
    for name, inner in keys.items():
        if name not in schema.get("properties", {}):
            found.append(name)
        else:
            below = unknown(inner, schema["properties"][name], root)
            found += [f"{name}.{one}" for one in below]
    return found


def test_what_is_exported_is_what_the_auditor_reads(files: dict[str, File]) -> None:
    """The chart's own containers are among those that are made, and each category has its own."""
    logs = files["modules/logs/main.tf"].body
    made = set(
        re.findall(
            r'"(insights-[\w-]+)"',
            local(files, "modules/logs/main.tf", "wanted").attributes["containers_of"],
        )
    )
    values = (_CHART / "values.yaml").read_text()
    assert set(re.findall(r"- (insights-[\w-]+)", values)) <= made
    categories = {
        log.attributes["category"].strip('"').lower()
        for kind in ("azurerm_monitor_diagnostic_setting", "azurerm_monitor_aad_diagnostic_setting")
        for setting in logs.below("resource", kind)
        if setting.labels[1] not in {"activity", "risk"}
        for log in setting.below("enabled_log")
    }
    assert {f"insights-logs-{one}" for one in categories} | {"insights-activity-logs"} == made
