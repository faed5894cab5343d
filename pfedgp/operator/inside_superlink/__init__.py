"""The process of the SuperLink: Flower's own program, and what is changed in it."""
