"""Takes secrets and names of people out of what goes into a support bundle. Pure.

Objects are copied by what is known to be harmless: annotations that are not listed, values of
environment variables and other keys of ConfigMaps never come along. In texts that anybody may have
written (logs, Events, settings), what looks like a secret is removed, and what looks like a
person's name, or is known as one, becomes the pseudonym that logs and the record have.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import yaml

from cli.support_bundle.secret_texts import (
    MOUNTED_FILE,
    REMOVED,
    SECRET_FLAG,
    SECRET_KEY,
    without_secrets,
)
from core.people.subject import pseudonymous_user

_NAMES_A_SECRET: Final = frozenset({"secretName", "existingSecret"})
"""Fields that hold the name of a Secret, and nothing of it."""
_A_NUMBER: Final = re.compile(r"(?i)(seconds|minutes|hours|days|bytes|mib|count|limit|port)$")
_OBJECT_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_URL_PATH: Final = re.compile(
    r"(?i)\b((?!unix|sqlite|file)[a-z][a-z0-9+.-]{0,31}://[^\s/?#\"']*)[/?#][^\s\"']+"
)
"""Of a URL what stands after its host; of some schemes that is a path of this machine."""

_MAIL: Final = re.compile(r"(?<![\w.+#%-])[\w.+#%-][\w.+'#%-]{0,256}+@[\w-]+(?:\.[\w-]+)+")
"""Guests of Entra ID have `NAME_HOST#EXT#@TENANT`."""
_USERS: Final = r"(?:user(?:[_-]?name)?|requesters?|subjects?|authors?|approvers?|approved[_-]?by)"
"""What a field that holds users is called."""
_USER_KEY: Final = re.compile(_USERS, re.IGNORECASE)
_QUOTED_USER: Final = re.compile(
    rf"(?i)(\buser \\?\"|\b{_USERS}=\\?\"|\"{_USERS}\\?\":\s*\\?\")((?:\\\\|[^\"\\\r\n])+)"
)
"""As kube-apiserver, logs and JSON have it, quoted once or twice."""
_USER_LIST: Final = re.compile(
    rf"(?i)(\"{_USERS}\\?\":\s*)(\[\s*\\?\"[^\"\r\n]*\"(?:\s*,\s*\\?\"[^\"\r\n]*\")*)"
)
_LISTED: Final = re.compile(r"(\")((?:\\\\|[^\"\\,\s\[])(?:\\\\|[^\"\\])*)")
_PLAIN_USER: Final = re.compile(rf"(?i)(\b{_USERS}=)([^\s\",;&\\\]}}]+)")
_PSEUDONYM: Final = re.compile(r"(user|oid|group):[0-9a-fA-F-]{16,36}|system:.*")

KEPT_ANNOTATIONS: Final = re.compile(
    r"checksum/config|deployment\.kubernetes\.io/revision|meta\.helm\.sh/.+|"
    r"admissions\.enforcer/disabled|sallyport\.dev/format"
)
_KEPT_METADATA: Final = frozenset(
    {"name", "namespace", "labels", "creationTimestamp", "deletionTimestamp", "generation", "uid"}
)
_LEFT_OUT: Final = frozenset({"metadata", "data", "binaryData", "stringData"})
_SHORTEST_NAME: Final = 3
_OWN_WORDS: Final = frozenset({"gate", "control", "auditor", "sallyport", "admin"})
"""No person's names, and in every line: to replace them would leave nothing to read."""


class Redactor:
    """Takes out what must not be seen, and counts what it took."""

    def __init__(self, people: Iterable[str] = ()) -> None:
        """Take names that are known to be people's, besides those that look like it."""
        known = {
            each
            for each in people
            if len(each) >= _SHORTEST_NAME
            and each not in _OWN_WORDS
            and not each.startswith("system:")
        }
        self.taken: Counter[str] = Counter()
        self._people = (
            re.compile(
                r"(?<![\w@.-])("
                + "|".join(re.escape(each) for each in sorted(known, key=len, reverse=True))
                + r")(?![\w@-])"
            )
            if known
            else None
        )

    def text(self, text: str) -> str:
        """Return a text that anybody may have written, without secrets and names."""
        text = without_secrets(text, self._count_secret)
        text = self._counted("names", _QUOTED_USER, _pseudonym_after, text)
        text = self._counted("names", _USER_LIST, _pseudonyms_in, text)
        text = self._counted("names", _PLAIN_USER, _pseudonym_after, text)
        text = self._counted("names", _MAIL, lambda found: pseudonymous_user(found[0]), text)
        if self._people is not None:
            text = self._counted(
                "names", self._people, lambda found: pseudonymous_user(found[0]), text
            )
        return text

    def document(self, value: Any, key: str = "") -> Any:
        """Return a document of JSON or YAML likewise; keys that name a secret lose their value."""
        if isinstance(value, Mapping):
            return self._mapping(value, key)
        if isinstance(value, list):
            before = [None, *value]
            return [
                self.document(each, _flag_before(each, one) or key)
                for one, each in zip(before, value, strict=False)
            ]
        if value is None or isinstance(value, bool):
            return value
        if SECRET_KEY.search(key) and not _is_harmless(key, value):
            self._count_secret()
            return REMOVED
        return self._text_of(key, value) if isinstance(value, str) else value

    def _text_of(self, key: str, text: str) -> str:
        if not _USER_KEY.fullmatch(key) or _PSEUDONYM.fullmatch(text):
            return self.text(text)
        made = pseudonymous_user(text)
        self.taken["names"] += made != text
        return made

    def _mapping(self, value: Mapping[Any, Any], key: str) -> dict[str, Any]:
        """Return it likewise; `value` is called what stands beside it, or what it stands in."""
        beside = (str(value[each]) for each in ("name", "key") if each in value)
        named = next(filter(SECRET_KEY.search, beside), key)
        return {
            self.text(str(name)): self.document(one, named if name == "value" else str(name))
            for name, one in value.items()
        }

    def object(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return an object of Kubernetes: without its environment's values, with few metadata."""
        kept = {key: value for key, value in body.items() if key not in _LEFT_OUT}
        made = self.document(self._without_environment(kept))
        made["metadata"] = self._metadata(body.get("metadata") or {})
        return dict(made)

    def settings(self, config_map: Mapping[str, Any]) -> dict[str, Any]:
        """Return a ConfigMap of settings: of `config.yaml` its fields, of other keys the size."""
        made = self.object(config_map)
        data = config_map.get("data") or {}
        made["data"] = {
            key: self._yaml(text) if key == "config.yaml" else f"[{len(text)} characters left out]"
            for key, text in data.items()
        }
        return made

    def _yaml(self, text: str) -> Any:
        try:
            return self._without_paths(self.document(yaml.safe_load(text)))
        except yaml.YAMLError:
            return f"[{len(text)} characters that are no YAML left out]"

    def _without_paths(self, value: Any) -> Any:
        """Return settings with the hosts of their URLs alone: paths of webhooks are secrets."""
        if isinstance(value, Mapping):
            return {key: self._without_paths(one) for key, one in value.items()}
        if isinstance(value, list):
            return [self._without_paths(each) for each in value]
        if not isinstance(value, str):
            return value
        return self._counted("secrets", _URL_PATH, lambda found: f"{found[1]}/{REMOVED}", value)

    def _metadata(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        kept = {key: value for key, value in metadata.items() if key in _KEPT_METADATA}
        annotations = metadata.get("annotations") or {}
        kept["annotations"] = {
            key: value if KEPT_ANNOTATIONS.fullmatch(key) else REMOVED
            for key, value in annotations.items()
        }
        return dict(self.document(kept))

    def _without_environment(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._without_environment(each) for each in value]
        if not isinstance(value, Mapping):
            return value
        made: dict[str, Any] = {}
        for key, one in value.items():
            if key == "metadata" and isinstance(one, Mapping):
                made[key] = self._metadata(one)
            elif key == "env" and isinstance(one, list):
                made[key] = [_without_literal(each) for each in one]
            else:
                made[key] = self._without_environment(one)
        return made

    def _count_secret(self) -> None:
        self.taken["secrets"] += 1

    def _counted(
        self, what: str, pattern: re.Pattern[str], by: Callable[[re.Match[str]], str], text: str
    ) -> str:
        def replace(found: re.Match[str]) -> str:
            made = by(found)
            self.taken[what] += made != found[0]
            return made

        return pattern.sub(replace, text)


def _is_harmless(key: str, value: str | float) -> bool:
    """Return whether a value is no secret though its field's name sounds like one."""
    if not isinstance(value, str):
        return _A_NUMBER.search(key) is not None
    if not value:
        return True
    if key in _NAMES_A_SECRET:
        return _OBJECT_NAME.fullmatch(value) is not None
    return MOUNTED_FILE.fullmatch(value) is not None


def _flag_before(argument: Any, before: Any) -> str:
    """Return the flag that an argument is the value of, where that is a secret."""
    if not isinstance(argument, str) or argument.startswith("-") or not isinstance(before, str):
        return ""
    return before if SECRET_FLAG.fullmatch(before) else ""


def _without_literal(variable: Any) -> Any:
    """Return a variable of a container's environment by its name, or by what it refers to."""
    if not isinstance(variable, Mapping) or "value" not in variable:
        return variable
    return {**variable, "value": REMOVED}


def _pseudonym_after(found: re.Match[str]) -> str:
    return found[1] + (found[2] if _PSEUDONYM.fullmatch(found[2]) else pseudonymous_user(found[2]))


def _pseudonyms_in(found: re.Match[str]) -> str:
    return found[1] + _LISTED.sub(_pseudonym_after, found[2])
