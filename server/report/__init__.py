"""What a person or a monitor sees of a run: console, TensorBoard, Prometheus, pictures and the HTML page."""
