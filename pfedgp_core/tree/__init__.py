"""A client's classifier: the tree of classes, the variants of its nodes, their objectives and predictions."""
