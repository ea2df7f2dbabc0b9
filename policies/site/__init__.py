"""A site's own Rego: what may stand beside the built-in policies, and how it gets there."""
