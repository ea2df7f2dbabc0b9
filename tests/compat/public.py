"""What scripts, dashboards, people and other programs rely on, taken from the code as it is.

`PUBLIC` has each by a name that says what it is. None of it has the name of a module, a class, a
function or a variable, unless that very name is what others see.
"""

import asyncio
import enum
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import NoneType
from typing import Any, Final, get_args, get_origin

import sqlalchemy as sa
import typer.main
from msgspec import to_builtins
from pydantic import BaseModel
from pydantic_core import PydanticUndefined
from sqlalchemy.schema import CreateIndex, CreateTable

from app.settings.root import Settings
from audit.access.detections.catalogue import DETECTIONS
from audit.ledger.store.store import Store
from audit.ledger.store.tables import METADATA
from cli import exits
from cli.main import app
from core.base import names
from docs.generate.names import registry
from docs.generate.schemas import SCHEMAS
from policies import BUILT_IN_BUNDLE
from policies.bundle.format import read_bundle
from tests.compat.product import modules
from tests.compat.source import source
from tests.compat.wire import shapes_of, wire_shapes
from tests.compat.written_types import WRITTEN

Json = Any


def words() -> list[str]:
    """Return each text without a space that the code has: keys, names, paths, headers, values.

    Without what only the code itself sees: annotations, names of modules and of attributes.
    """
    own = {each.__name__ for each in modules().values() if "." in each.__name__}
    found = (each for each in source().texts if not each.endswith(".py"))
    return sorted(each for each in found if each.partition(":")[0] not in own)


def metrics() -> Json:
    """Return each metric with its type and help; its labels and buckets as the code writes them."""
    families = [
        {"name": family.name, "type": family.type, "help": family.documentation}
        for family in registry().collect()
        if family.name.startswith("sallyport")
    ]
    return {
        "families": sorted(families, key=lambda each: each["name"]),
        "made": sorted(source().metrics),
    }


def settings() -> Json:
    """Return each setting: its variable, its shape as JSON Schema, its default."""
    return dict(_settings(Settings))


def _settings(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, Json]]:
    schema = model.model_json_schema()
    for name, field in model.model_fields.items():
        path = f"{prefix}{name}"
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _settings(field.annotation, f"{path}.")
            continue
        default = field.get_default(call_default_factory=True)
        yield (
            path,
            {
                "variable": f"SALLYPORT_{path.upper().replace('.', '__')}",
                "default": None if default is PydanticUndefined else _plain(default),
                "schema": _untitled(schema["properties"].get(name), schema),
            },
        )


def _plain(value: Any) -> Json:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, dict):
        return {str(_plain(key)): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, set | frozenset):
        return sorted(map(str, map(_plain, value)))
    return value if isinstance(value, str | int | float | None) else str(value)


def _untitled(schema: Json, whole: Json) -> Json:
    """Return a schema with what it refers to in its place, and without names of classes."""
    if isinstance(schema, list):
        return [_untitled(each, whole) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _untitled(whole["$defs"][schema["$ref"].rpartition("/")[2]], whole)
    if isinstance(schema.get("properties"), dict):
        inner = {name: _untitled(each, whole) for name, each in schema["properties"].items()}
        rest = {key: each for key, each in schema.items() if key != "properties"}
        return {**_untitled(rest, whole), "properties": inner}
    return {
        key: _untitled(each, whole)
        for key, each in schema.items()
        if key not in {"title", "description", "default", "$defs"}
    }


def commands() -> Json:
    """Return each command with its arguments and options, without a word of help."""
    return dict(_commands(typer.main.get_command(app), "sallyport"))


def _commands(command: Any, path: str) -> Iterator[tuple[str, Json]]:
    taken = [_parameter(each) for each in command.params]
    yield path, {"hidden": command.hidden, "takes": taken}
    for name, inner in sorted(getattr(command, "commands", {}).items()):
        yield from _commands(inner, f"{path} {name}")


def _parameter(given: Any) -> Json:
    flags = [each for each in (*given.opts, *given.secondary_opts) if each.startswith("-")]
    return {
        "options": flags,
        "type": _taken(given.type_descriptor.annotation),
        "required": given.required,
        "nargs": given.nargs,
        "multiple": given.multiple,
        "default": None if callable(given.default) else _plain(given.default),
        "least": given.min,
        "most": given.max,
        "variable": given.envvar,
    }


def _taken(kind: Any) -> str:
    """Say what text is taken; of an enum its values."""
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return f"one of {', '.join(str(each.value) for each in kind)}"
    inner = [_taken(each) for each in get_args(kind) if each is not NoneType]
    outer = getattr(get_origin(kind) or kind, "__name__", str(kind))
    return f"{outer} of {', '.join(inner)}" if inner else outer


def exit_codes() -> Json:
    """Return the exit codes."""
    return sorted(each for each in vars(exits).values() if isinstance(each, int))


def kubernetes_names() -> Json:
    """Return the labels, annotations, verbs and resources of Sallyport's."""
    return sorted(
        {
            each
            for name, each in vars(names).items()
            if isinstance(each, str) and not name.startswith("__")
        }
    )


def tables() -> Json:
    """Return the ledger's tables as each database makes them, and those of a new SQLite file."""
    return {
        "postgresql": list(_ddl(sa.create_engine("postgresql+psycopg://").dialect)),
        "sqlite": list(_ddl(sa.create_engine("sqlite://").dialect)),
        "file": asyncio.run(_new_file()),
        "revisions": sorted(_revisions()),
    }


def _ddl(dialect: sa.Dialect) -> Iterator[str]:
    for table in METADATA.sorted_tables:
        yield str(CreateTable(table).compile(dialect=dialect)).strip()
        for index in sorted(table.indexes, key=lambda each: str(each.name)):
            yield str(CreateIndex(index).compile(dialect=dialect)).strip()


async def _new_file() -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.db"
        async with Store(f"sqlite:///{path}"):
            pass
        engine = sa.create_engine(f"sqlite:///{path}")
        with engine.connect() as connection:
            found = connection.exec_driver_sql(
                "select sql from sqlite_master where sql is not null order by type desc, name"
            )
            texts = [str(each) for (each,) in found]
        engine.dispose()
        return texts


def _revisions() -> Iterator[str]:
    for module in modules().values():
        if isinstance(getattr(module, "down_revision", ...), str | None):
            yield f"{module.revision} after {module.down_revision}"


def policies() -> Json:
    """Return the built-in rules as the bundle's manifest has them, and the bundle's revision."""
    bundle = read_bundle(BUILT_IN_BUNDLE)
    return {
        "revision": bundle.revision,
        "rules": {name: to_builtins(rule) for name, rule in sorted(bundle.rules.items())},
    }


def detections() -> Json:
    """Return what operators, findings and documents say of detections."""
    return {
        each.id: {
            "number": each.number,
            "severity": each.severity.value,
            "techniques": list(each.techniques),
            "tuning": {one.name: [one.value, one.unit] for one in each.tuning},
            "acts": sorted(act.value for act in each.acts),
            "topics": sorted(topic.value for topic in each.topics),
            "gaps": each.gaps,
            "elsewhere": each.elsewhere is not None,
        }
        for each in DETECTIONS
    }


def schemas() -> Json:
    """Return id, title and shapes of each JSON Schema that is published."""
    return {
        file: {"id": name, "title": title, "shapes": shapes_of([kind])}
        for file, (name, title, kind) in SCHEMAS.items()
    }


PUBLIC: Final[Mapping[str, Callable[[], Json]]] = {
    "wire-types": lambda: wire_shapes([*source().decoded, *WRITTEN]),
    "log-events": lambda: sorted(source().events),
    "words": words,
    "metrics": metrics,
    "settings": settings,
    "commands": commands,
    "exit-codes": exit_codes,
    "kubernetes-names": kubernetes_names,
    "tables": tables,
    "policies": policies,
    "detections": detections,
    "schemas": schemas,
}
"""What each is; all are JSON."""
