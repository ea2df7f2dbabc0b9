"""Values that all subjects share: facts, the judged object, candidates, outcomes, messages."""
