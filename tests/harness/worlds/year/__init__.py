"""A synthetic year of a cluster, for behaviour."""
