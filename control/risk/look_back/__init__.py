"""Looks back on identities at risk: records what they left behind, tells the namespaces."""
