"""What identities do that they did not do before, learnt from the decisions that are recorded."""
