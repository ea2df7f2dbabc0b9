"""Reads what activities tell beside their fields (`records.activity_topics`). Pure."""

from typing import Final

from core.weights.events import Activity

_DELETE: Final = "/delete"


def word(event: Activity, *names: str) -> str:
    """Give the first of these facts that is there, in lower case; empty where none is."""
    for name in names:
        value = event.facts.get(name)
        if value is not None and value != "":
            return str(value).lower()
    return ""


def is_delete(event: Activity) -> bool:
    """Say whether an entry of Azure's activity log took something away."""
    return event.facts.get("change") == "delete" or event.operation.lower().endswith(_DELETE)


def subscription_of(resource: str) -> str:
    """Give the subscription in a resource id, lower case; empty where it has none."""
    parts = resource.lower().split("/")
    return parts[2] if len(parts) > 2 and parts[1] == "subscriptions" else ""  # noqa: PLR2004


def by_whom(event: Activity) -> str:
    """Say who did it, for a person."""
    who = event.who or "nobody whom the log names"
    return f"{who} from {event.address}" if event.address else who
