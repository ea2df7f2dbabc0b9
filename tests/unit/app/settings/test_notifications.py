"""The section `notifications`: what is wrong is named, with the fix."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from app.notifications.sinks import route_of
from app.settings.notifications import NotificationSink
from app.settings.root import read_settings
from audit.notifications.notice import NoticeEvent
from core.base.errors import SettingsError
from core.weights.documents.events import Severity

WEBHOOK = {
    "name": "pager",
    "kind": "webhook",
    "url": "https://pager.example/hook",
    "secrets": "/etc/sallyport/notifications/pager",
}


def read_sinks(folder: Path, *sinks: dict[str, Any]) -> list[NotificationSink]:
    """Read settings with these sinks."""
    file = folder / "config.yaml"
    file.write_text(yaml.safe_dump({"notifications": {"sinks": list(sinks)}}))
    return read_settings(file, {}).notifications.sinks


def test_sink_is_read(tmp_path: Path) -> None:
    """Its route is what the settings say; a time in another zone is the same time."""
    route = {
        "at_least": "high",
        "stores": ["frontier"],
        "events": ["gap"],
        "since": "2026-11-28T01:00:00+01:00",
    }
    (sink,) = read_sinks(tmp_path, {**WEBHOOK, **route})
    assert route_of(sink).at_least is Severity.HIGH
    assert route_of(sink).stores == {"frontier"}
    assert route_of(sink).events == {NoticeEvent.GAP}
    assert route_of(sink).since == "2026-11-28T00:00:00.000Z"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"url": None}, "the sink 'pager': url is missing: webhook needs it"),
        ({"secrets": None}, "the sink 'pager': secrets is missing"),
        ({"kind": "pigeon"}, r"notifications.sinks.kind .*\[0\]: pigeon must be"),
        ({"name": "Pager"}, r"notifications.sinks.name .*\[0\]"),
        ({"url": "http://pager.example"}, r"notifications.sinks.*url .*\[0\]: what is given"),
        ({"url": "https://u:p4ss@pager.example"}, r"notifications.sinks.*url .*\[0\]"),
        ({"events": []}, r"notifications.sinks.*events .*\[0\]"),
        ({"events": ["rumour"]}, r"notifications.sinks.*events .*: rumour must be"),
        ({"at_least": "grave"}, r"notifications.sinks.*at_least .*\[0\]: grave must be"),
        ({"since": "2026-11-28"}, "must have a time zone"),
        ({"since": "yesterday"}, r"notifications.sinks.*since .*\[0\]"),
        ({"pager": 1}, "there is no such setting"),
        ({"server": "a:1"}, "server must not be given: webhook has none"),
        ({"kind": "syslog", "url": None, "secrets": None}, "server is missing: syslog needs it"),
        ({"kind": "smtp", "server": "a:25"}, "sender is missing.*recipients is missing"),
        ({"kind": "kafka"}, "servers is missing.*topic is missing.*sign_in is missing"),
        (
            {
                "kind": "kafka",
                "servers": ["a:1"],
                "topic": "t",
                "sign_in": "plain",
                "secrets": None,
            },
            "secrets is missing: sign_in plain needs it",
        ),
        ({"kind": "sentinel"}, "endpoint is missing.*rule is missing.*stream is missing"),
        ({"kind": "slack", "secrets": None}, "secrets is missing: slack needs it"),
        ({"kind": "teams"}, "url must not be given: teams has none"),
        ({"kind": "smtp", "server": "a"}, r"notifications.sinks.*server .*\[0\]: a String"),
        ({"kind": "smtp", "recipients": ["a b@c"]}, r"notifications.sinks.*recipients"),
    ],
)
def test_wrong_sink_is_refused_at_start(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    """The message names the field and the fix, and no password."""
    sink = {name: value for name, value in {**WEBHOOK, **changes}.items() if value is not None}
    with pytest.raises(SettingsError, match=says) as caught:
        read_sinks(tmp_path, sink)
    assert "p4ss" not in str(caught.value)


def test_two_sinks_of_one_name_are_refused(tmp_path: Path) -> None:
    """They would share a cursor."""
    with pytest.raises(SettingsError, match="several sinks are called pager"):
        read_sinks(tmp_path, WEBHOOK, WEBHOOK)
