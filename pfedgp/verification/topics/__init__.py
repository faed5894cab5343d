"""What this program says to the questions of a topic, a topic a file."""
