"""Sources of logs: folders of blobs, files, standard input."""
