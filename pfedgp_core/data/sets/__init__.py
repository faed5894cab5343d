"""Data sets that pFedGP knows by name, a file each; nothing is ever downloaded."""
