"""Messages about wrong settings, in the words of those who give them: flag, variable, setting."""

import re
from collections.abc import Mapping
from typing import Any, Final

from core.base.safe_text import shorten

PREFIX: Final = "SALLYPORT_"
"""Of the environment's variables that are settings."""

_FLAGS: Final[Mapping[str, str]] = {
    "cluster": "--cluster",
    "kubeconfig": "--kubeconfig",
    "bundle": "--bundle",
    "listen.cert": "--cert",
    "listen.key": "--key",
    "listen.host": "--host",
    "listen.port": "--port",
}
"""Settings that have a flag."""

_MUST: Final[Mapping[str, str]] = {
    "less_than_equal": "must be at most {le}",
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be more than {gt}",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "string_type": "must be text",
    "list_type": "must be a list",
    "path_type": "must be a path",
    "model_type": "must hold names and values of settings",
    "enum": "must be {expected}",
    "literal_error": "must be {expected}",
}
"""What pydantic calls an error, to what the value must be."""

_SHOWN: Final = 60
"""Characters shown of a wrong value."""


def name_setting(path: str) -> str:
    """Return the names of a setting: `--port (SALLYPORT_LISTEN__PORT, listen.port)`."""
    variable = PREFIX + path.upper().replace(".", "__")
    flag = _FLAGS.get(path)
    return f"{flag} ({variable}, {path})" if flag else f"{path} ({variable})"


def explain_problem(problem: Mapping[str, Any]) -> str:
    """Put one of pydantic's errors into words."""
    fields = [part for part in problem["loc"] if isinstance(part, str)]
    path = ".".join(fields)
    if problem["type"] == "extra_forbidden":
        named = "ledger" if "://" in path else path
        return f"{name_setting(named)}: there is no such setting"
    place = "".join(f"[{part}]" for part in problem["loc"] if isinstance(part, int))
    known = _MUST.get(problem["type"])  # pydantic's own text may have braces: those of a pattern.
    must = known.format(**problem.get("ctx", {})) if known else problem["msg"]
    shown = _shown(path, str(problem["input"]))
    return f"{name_setting(path)}{place}: {shown or 'empty'} {must}"


def _shown(path: str, value: str) -> str:
    """Return what may be shown of a wrong value: nothing of what may hold a password."""
    if path.partition(".")[0] == "ledger" or "://" in value:
        return "what is given"
    return shorten(value, _SHOWN)


def unreadable_variable(error: ValueError) -> str:
    """Name the variable whose value is a list or a map, and no JSON."""
    found = re.search(r'for field "(\w+)"', str(error))
    return f"{name_setting(found[1])}: is not JSON" if found else f"settings: {error}"
