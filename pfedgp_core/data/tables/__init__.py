"""Tables as hospitals export them: text and its dialect, cells, columns, and the rules by which they become inputs."""
