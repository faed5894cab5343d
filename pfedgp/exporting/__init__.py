"""A site's classifier for programs that run without pFedGP."""
