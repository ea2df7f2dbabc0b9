"""ContainerProfiles: which one admits an object, who may use it, what defaults it fills in."""
