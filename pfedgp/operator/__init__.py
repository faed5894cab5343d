"""The operator's side of a deployment: certificates, the server's processes, and runs on them."""
