"""Builds a bundle from the built-in Rego and folders of a site's; never called by a gate."""
