"""The commands `sallyport policy status`, `activate` and `rollback`: bundles in a cluster."""
