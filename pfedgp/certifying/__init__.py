"""Certificates of a site's classifier for ``pfedgp certify``: which proof to take, what it stands on, how it reads."""
