"""One module for each program that is compared; each has PROXIES, a list of harness.proxy.Proxy."""
