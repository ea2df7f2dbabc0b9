"""The words of a notice for people: mail and chat have the same. Pure."""

from collections.abc import Iterator

from audit.notifications.notice import Notice
from audit.reports.display_text import size_text


def headline_of(notice: Notice) -> str:
    """Return the one line that says how grave it is, and what it is."""
    return f"{notice.severity.value.upper()}: {notice.title}"


def facts_of(notice: Notice) -> Iterator[tuple[str, str]]:
    """Yield what is known of it, as `findings show` names it: what it is called, and what it is."""
    yield "id", notice.id
    yield "time", notice.time
    yield "cluster", notice.cluster
    if notice.detection:
        size = f", {size_text(notice.bytes)}" if notice.bytes else ""
        yield "found by", f"{notice.detection} ({notice.events} events{size} when found)"
    if notice.store or notice.account:
        place = "/".join(word for word in (notice.account, notice.container) if word)
        yield "store", f"{notice.store or 'no WeightStore'} ({place or 'no account'})"
    if notice.who:
        yield "who", notice.who
    lists = (
        ("humans", notice.requesters),
        ("Pods", notice.pods),
        ("from", notice.addresses),
        ("techniques", notice.techniques),
    )
    for name, words in lists:
        if words:
            yield name, ", ".join(words)
