"""No proxy: the client straight to the origin, its packets forwarded by the proxy's CPU in the kernel; with TLS, from end to end."""

from harness.proxy import Proxy

PROXIES = [Proxy("none", "no proxy; the proxy's CPU forwards packets and ends no connection", program="", kinds=("relay", "tls-term"))]
