"""All settings: the root, the sections of each subject, and the messages for wrong ones."""
