"""Platform files from what the administrator of a cluster has: graphs of networks, hosts, measurements."""
