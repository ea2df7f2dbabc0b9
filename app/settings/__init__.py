"""All settings: the root, a module for each large section, and the messages for wrong ones."""
