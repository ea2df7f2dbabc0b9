"""The password in a ledger's URL is shown nowhere, wherever the URL was put by mistake."""

from pathlib import Path

import pytest

from app.settings.root import read_settings
from core.base.errors import SettingsError


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("SALLYPORT_LEDGER", '"postgresql+psycopg://u:S3CRET@h/d"'),
        ("SALLYPORT_LEDGER", '{"url": ["postgresql+psycopg://u:S3CRET@h/d"]}'),
        ("SALLYPORT_LEDGER__KEEP_DAYS", "postgresql+psycopg://u:S3CRET@h/d"),
    ],
)
def test_a_ledgers_password_is_never_shown(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    """Wherever the URL was put by mistake."""
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsError) as error:
        read_settings(None, {})
    assert "S3CRET" not in str(error.value)


@pytest.mark.parametrize(
    "content",
    [
        "ledger: postgresql+psycopg://u:S3CRET@h/d",
        "ledger: {postgresql+psycopg://u:S3CRET@h/d: 1}",
        "ledger: {url: [postgresql+psycopg://u:S3CRET@h/d]}",
    ],
)
def test_a_ledgers_password_in_a_file_is_never_shown(tmp_path: Path, content: str) -> None:
    """Neither as a value nor as a key."""
    file = tmp_path / "settings.yaml"
    file.write_text(content)
    with pytest.raises(SettingsError) as error:
        read_settings(file, {})
    assert "S3CRET" not in str(error.value)
