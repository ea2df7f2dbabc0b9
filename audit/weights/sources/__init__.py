"""Where logs of storage come from: folders of blobs, Event Hubs, files, standard input."""
