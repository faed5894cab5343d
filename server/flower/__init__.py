"""Flower as the server uses it: messages, the grid, and the checks of replies."""
