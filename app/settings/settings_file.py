"""The YAML file of settings that --config names."""

from pathlib import Path
from typing import Any

from core.base.errors import SettingsError
from kube.manifests.strict_yaml import YamlError, load_all


def read_file(file: Path) -> dict[str, Any]:
    """Read the settings of a file; an empty one gives none.

    Raises:
        SettingsError: naming file and line of what is wrong.
    """
    documents = [value for value in _load(file) if value is not None]
    if len(documents) > 1:
        raise SettingsError(f"--config {file}: holds {len(documents)} documents; it must be one")
    settings = documents[0] if documents else {}
    if not isinstance(settings, dict) or not all(isinstance(key, str) for key in settings):
        raise SettingsError(f"--config {file}: must hold names and values of settings")
    return settings


def _load(file: Path) -> list[Any]:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise SettingsError(f"--config {file}: there is no such file") from error
    except OSError as error:
        raise SettingsError(f"--config {file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"--config {file}: is not UTF-8: {error}") from error
    try:
        return [value for _, value in load_all(text)]
    except YamlError as error:
        line = f", line {error.line}" if error.line else ""
        raise SettingsError(f"--config {file}{line}: {error.problem}") from error
