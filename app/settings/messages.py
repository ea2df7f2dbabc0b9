"""Messages about wrong settings, in the words of those who give them: flag, variable, setting."""

import difflib
import os
import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from core.base.errors import SettingsError
from core.base.safe_text import shorten

_PREFIX: Final = "SALLYPORT_"

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

_ELSEWHERE: Final = frozenset({"HELM", "KAFKA", "OPA", "POSTGRES", "PROOF"})
"""Variables that are no settings: programs of builds and tests, and the size of `make proof`."""

_SERVICE_LINK: Final = re.compile(
    r"(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)"
)
"""Variables that kubelet sets in a Pod for a Service `sallyport…` of its namespace
(kubernetes/pkg/kubelet/envvars); beside them `…PORT=tcp://…`."""

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
    variable = _PREFIX + path.upper().replace(".", "__")
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
    must = _MUST.get(problem["type"], problem["msg"]).format(**problem.get("ctx", {}))
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


def refuse_unknown_variables(known: Collection[str]) -> None:
    """Refuse variables that look like settings and are none: a slip would go unseen.

    Raises:
        SettingsError: naming each, and the setting that was probably meant.
    """
    names = {name.upper() for name in known}
    problems = [
        f"{variable}: there is no such setting{_meant(first, names)}"
        for variable, value in sorted(os.environ.items())
        if variable.upper().startswith(_PREFIX)
        and (first := variable[len(_PREFIX) :].upper().partition("__")[0]) not in names
        and first not in _ELSEWHERE
        and not _is_service_link(variable[len(_PREFIX) :], value)
    ]
    if problems:
        raise SettingsError("; ".join(problems))


def _meant(first: str, names: Collection[str]) -> str:
    close = difflib.get_close_matches(first, names, n=1)
    return f"; did you mean {_PREFIX}{close[0]}?" if close else ""


def _is_service_link(name: str, value: str) -> bool:
    if _SERVICE_LINK.fullmatch(name):
        return True
    return name.endswith("PORT") and value.startswith(("tcp://", "udp://", "sctp://"))
