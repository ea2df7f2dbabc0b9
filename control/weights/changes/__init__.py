"""Records changes of the objects that people decide with, so that an access is explained later."""
