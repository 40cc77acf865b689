"""Build the flows of requests: the calls that each request made."""
