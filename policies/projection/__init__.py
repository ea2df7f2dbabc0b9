"""The projection and the context: all that policies see of an object and of the request for it."""
