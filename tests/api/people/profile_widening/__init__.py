"""ContainerProfiles that become wider only as two people have approved."""
