"""What is told without being asked: records of Event Hubs, OpenID security events. Pure."""
