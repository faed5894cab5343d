"""A trained model at a site, and the site's personal classifier on disk."""
