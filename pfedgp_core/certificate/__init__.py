"""Upper bounds on the true error of a client's classifier, and all that enters them."""
