"""JSON schemas of a kube-apiserver's kinds, made from its own OpenAPI, for kubeconform."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.harness.programs.client import Client, Json

LOCATION: Final = "{{ .Group }}-{{ .ResourceAPIVersion }}-{{ .ResourceKind }}.json"
"""The name of each kind's file, as kubeconform fills it in: core's group is `v1` to it."""

_REFERENCE: Final = "#/components/schemas/"
_KINDS: Final = "x-kubernetes-group-version-kind"
_EITHER: Final = [{"type": "integer"}, {"type": "string"}]


async def write_schemas(client: Client, folder: Path) -> int:
    """Write one file for each kind that the server serves; give how many.

    An object may have the fields that are named and no others, as `fieldValidation=Strict` has it.
    """
    count = 0
    for url in (await documents(client)).values():
        document = await _read(client, url)
        for name, schema in _kinds(document.get("components", {}).get("schemas", {})):
            (folder / name).write_text(json.dumps(schema))
            count += 1
    return count


async def documents(client: Client) -> dict[str, str]:
    """Return where the OpenAPI of each version of each group is, by its path."""
    index = await _read(client, "/openapi/v3")
    return {path: found["serverRelativeURL"] for path, found in index["paths"].items()}


async def _read(client: Client, url: str) -> Json:
    status, answer = await client.request("GET", url)
    assert status == 200, answer
    # kube-apiserver calls these documents plain text.
    read: Json = json.loads(answer["message"]) if answer.keys() == {"message"} else answer
    return read


def _kinds(schemas: Json) -> Iterator[tuple[str, Json]]:
    """Yield the file's name and the schema of each kind of a document, whole by itself."""
    made = {name: closed(schema) for name, schema in schemas.items()}
    for name, schema in schemas.items():
        of = schema.get(_KINDS, ())
        if len(of) != 1 or "metadata" not in schema.get("properties", {}):
            continue  # Not an object that somebody stores.
        group, version, kind = (of[0][key] for key in ("group", "version", "kind"))
        version_of = f"{group}/{version}" if group else version
        properties = {
            **made[name]["properties"],
            "apiVersion": {"const": version_of},
            "kind": {"const": kind},
        }
        needed = sorted({"apiVersion", "kind", *schema.get("required", ())})
        whole = {**made[name], "properties": properties, "required": needed}
        file = LOCATION
        for word, value in (
            ("Group", group or version),
            ("ResourceAPIVersion", version),
            ("ResourceKind", kind.lower()),
        ):
            file = file.replace(f"{{{{ .{word} }}}}", value)
        yield file, {**whole, "components": {"schemas": made}}


def closed(value: Any, *, named: bool = False) -> Any:
    """Return JSON Schema for one of OpenAPI; in a map of `properties` (`named`) keys are fields.

    What OpenAPI says by words of its own (`nullable`, `x-kubernetes-…`) is said by JSON Schema's.
    """
    if isinstance(value, list):
        return [closed(each) for each in value]
    if not isinstance(value, dict):
        return value
    if named:
        return {key: closed(below) for key, below in value.items()}
    kept = {
        key: closed(below, named=key == "properties")
        for key, below in value.items()
        if key not in {"default", "description", "format", "nullable"} and not key.startswith("x-")
    }
    if value.get("x-kubernetes-int-or-string") or value.get("format") == "int-or-string":
        kept.pop("type", None)
        kept.setdefault("anyOf", _EITHER)
    open_ended = value.get("x-kubernetes-preserve-unknown-fields")
    if "properties" in kept and "additionalProperties" not in kept and not open_ended:
        kept["additionalProperties"] = False
    return {"anyOf": [kept, {"type": "null"}]} if value.get("nullable") else kept
