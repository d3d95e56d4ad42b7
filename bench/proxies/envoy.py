"""envoy, from a binary that is given: Debian has none. One worker; tcp_proxy as a relay, with or
without TLS, the router as an HTTP proxy."""

import json
import os

from harness.proxy import Proxy

PROXIES = []

_TYPE = "type.googleapis.com/envoy.extensions.filters"


def _filter(kind):
    if kind != "http":
        return {
            "name": "envoy.filters.network.tcp_proxy",
            "typed_config": {
                "@type": f"{_TYPE}.network.tcp_proxy.v3.TcpProxy", "stat_prefix": "bench", "cluster": "origin",
                "idle_timeout": "3600s",
            },
        }
    route = {"match": {"prefix": "/"}, "route": {"cluster": "origin", "timeout": "0s"}}
    return {
        "name": "envoy.filters.network.http_connection_manager",
        "typed_config": {
            "@type": f"{_TYPE}.network.http_connection_manager.v3.HttpConnectionManager",
            "stat_prefix": "bench",
            "http_protocol_options": {"allow_absolute_url": True},
            "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [route]}]},
            "http_filters": [
                {"name": "envoy.filters.http.router", "typed_config": {"@type": f"{_TYPE}.http.router.v3.Router"}}
            ],
        },
    }


def _address(ip, port):
    return {"socket_address": {"address": ip, "port_value": port}}


def _tls(name, context):
    kind = f"type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.{name}"
    versions = {"tls_minimum_protocol_version": "TLSv1_3", "tls_maximum_protocol_version": "TLSv1_3"}
    common = {"tls_params": versions, **context}
    return {
        "transport_socket": {
            "name": "envoy.transport_sockets.tls", "typed_config": {"@type": kind, "common_tls_context": common}
        }
    }


def _ending(target):
    pem = {"filename": target.certificate}
    pair = {"tls_certificates": [{"certificate_chain": pem, "private_key": pem}]}
    return _tls("DownstreamTlsContext", pair) if target.kind == "tls-term" else {}


def _beginning(target):
    return _tls("UpstreamTlsContext", {}) if target.kind == "tls-init" else {}


def _config(target):
    endpoint = {"endpoint": {"address": _address(target.origin_ip, target.origin_port)}}
    limit = {"max_connections": 20000, "max_pending_requests": 20000, "max_requests": 20000}
    return {
        "static_resources": {
            "listeners": [{
                "address": _address(target.listen_ip, target.listen_port),
                "tcp_backlog_size": 4096,
                "enable_reuse_port": True,
                "filter_chains": [{"filters": [_filter(target.kind)], **_ending(target)}],
            }],
            "clusters": [{
                "name": "origin",
                **_beginning(target),
                "type": "STATIC",
                "connect_timeout": "10s",
                "circuit_breakers": {"thresholds": [limit]},
                "load_assignment": {"cluster_name": "origin", "endpoints": [{"lb_endpoints": [endpoint]}]},
            }],
        }
    }


def _command(target):
    config = target.write("envoy.json", json.dumps(_config(target)))
    return [target.program, "-c", config, "--concurrency", "1", "--disable-hot-restart", "--log-level", "critical"]


def given(path):
    """From --envoy PATH."""
    return Proxy("envoy", "one worker", program=os.path.abspath(path), kinds=("relay", "http", "tls-term", "tls-init"), command=_command, version=("--version",))
