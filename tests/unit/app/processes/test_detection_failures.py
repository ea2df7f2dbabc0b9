"""The auditor's log says where a detection failed, and nothing of what it failed on."""

from structlog.testing import capture_logs

from app.processes.auditor.weight_logs import make_failure_logger


def test_each_place_where_a_detection_fails_is_told_once_without_its_words() -> None:
    """A detection fails on every event when it does; an exception quotes what a caller chose."""
    with capture_logs() as lines:
        tell = make_failure_logger()
        for name in ("copy-out", "copy-out", "log-gap"):
            try:
                raise KeyError("sig=planted")  # noqa: TRY301  As a detection would.
            except KeyError as error:
                tell(name, error)
    assert [line["detection"] for line in lines] == ["copy-out", "log-gap"]
    assert {line["error"] for line in lines} == {"KeyError"}
    assert all(line["at"].startswith("test_detection_failures.py:") for line in lines)
    assert "planted" not in str(lines)
