"""Policy bundles that are published in ConfigMaps."""
