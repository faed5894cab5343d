"""What travels between server and clients: names, layouts, and the checks of what arrives."""
