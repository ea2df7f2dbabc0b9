"""Where logs come from: folders of blobs, files, standard input."""
