"""What one client's update and evaluation cost (``pfedgp bench``)."""
