"""The command `sallyport verify`: dry runs that show whether a cluster is guarded."""
