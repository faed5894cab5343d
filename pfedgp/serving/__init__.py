"""A resident site: predictions over HTTP, without the start of Python and torch for each of them."""
