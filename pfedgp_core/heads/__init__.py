"""What the shared features are good for: the tasks, a file each, behind one interface."""
