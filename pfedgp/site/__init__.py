"""The site's program: a supervisor, Flower's SuperNode under it, and one long-lived worker that trains."""
