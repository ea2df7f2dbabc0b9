"""Where notices go: a module for each kind of sink, with the protocol that it keeps."""
