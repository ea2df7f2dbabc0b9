"""The risk of the identities behind a request, and what the risk table lets them do."""
