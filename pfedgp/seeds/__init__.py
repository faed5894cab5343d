"""One federation under several seeds, as processes beside each other."""
