"""The operator's page: what a server, its sites and its runs do, read from the state folder and shown in a browser."""
