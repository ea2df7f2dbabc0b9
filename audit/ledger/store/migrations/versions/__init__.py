"""The steps, in the order of their numbers. A step only adds: one release older writes on."""
