"""The variants of pFedGP at a tree node, a file each."""
