"""Takes policy bundles from a registry and puts a published one in force on every gate."""
