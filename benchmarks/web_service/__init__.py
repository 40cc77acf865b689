"""A web service with a database, a cache and a second service, the load that it is put under, and the faults in that load."""
