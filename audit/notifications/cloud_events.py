"""Notices as CloudEvents 1.0 in JSON, as webhooks and Kafka carry them in structured mode. Pure.

https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/formats/json-format.md
"""

from typing import Any, Final

import msgspec

from audit.notifications.notice import ENCODER, Notice

MEDIA_TYPE: Final = "application/cloudevents+json; charset=utf-8"


def cloud_event(notice: Notice) -> bytes:
    """Return a notice as a CloudEvent in JSON; receivers drop doubles by `source` and `id`."""
    event: dict[str, Any] = {
        "specversion": "1.0",
        "id": notice.id,
        "source": f"/sallyport/{notice.cluster}",
        "type": f"dev.sallyport.{notice.event.value}",
        "time": notice.time,
        "severity": notice.severity.value,
        "datacontenttype": "application/json",
        "data": msgspec.to_builtins(notice),
    }
    if notice.store:
        event["subject"] = notice.store
    return ENCODER.encode(event)
