"""People: the subject of a request, and the rule that two people approve."""
