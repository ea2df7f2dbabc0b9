"""Events that others send: records of Event Hubs, OpenID security events. Pure."""
