"""ContainerProfiles: the kind, the grammar of privileges, defaults, and suggestions."""
