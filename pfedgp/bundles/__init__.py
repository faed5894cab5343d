"""Signed models in one file, for sites that never train: they need no server, only the file and a public key."""
