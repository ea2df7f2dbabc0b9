"""The risk of identities: its model, the snapshot and its stored form, and look-backs."""
