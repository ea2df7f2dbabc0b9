"""Numbers of an ingest that the settings may change."""

from typing import Final

PATIENCE_S: Final = 120.0
"""How long records are left lying before they are attributed: so long may what `control` records
of Pods need until it is here."""

POLL_S: Final = 60.0
"""Between two looks at blobs of the last days."""

TOKEN_LIFETIME_S: Final = 24 * 3600.0
"""Tokens of managed identities live up to 24 hours (Microsoft Learn, "Configurable token
lifetimes"; those with Continuous Access Evaluation up to 28, for which an operator sets more)."""

DELAY_S: Final = 300.0
"""By how much events may come out of order: storage writes a record within some minutes, and those
of one account's front ends side by side."""

MOST_PODS: Final = 200_000
"""Lives that are kept: about 150 MB."""
