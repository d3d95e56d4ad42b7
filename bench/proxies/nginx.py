"""nginx, one worker, no log: its stream module as a TCP relay, with or without TLS, HTTP as a proxy for one origin."""

from harness.proxy import Proxy

_MODULE = "/usr/lib/nginx/modules/ngx_stream_module.so"
_CONFIG = """
load_module {module};
user root;
daemon off;
worker_processes 1;
worker_rlimit_nofile 20000;
pid {folder}/nginx.pid;
error_log stderr crit;
events {{ worker_connections 19900; }}
"""
_STREAM = """
stream {{
    access_log off;
    proxy_timeout 1h;
    proxy_half_close on;
    {line}
    server {{
        listen {listen_ip}:{listen_port} backlog=4096 reuseport{ssl};
        proxy_pass {origin_ip}:{origin_port};
        {tls}
    }}
}}
"""
_HTTP = """
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    keepalive_timeout 1h;
    keepalive_requests 1000000000;
    proxy_max_temp_file_size 0;
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    client_max_body_size 0;
    {line}
    upstream origin {{
        server {origin_ip}:{origin_port};
        keepalive 1024;
        keepalive_requests 1000000000;
        keepalive_timeout 1h;
    }}
    server {{
        listen {listen_ip}:{listen_port} backlog=4096 reuseport;
        location / {{ proxy_pass http://origin; }}
    }}
}}
"""


def _command(stream_line="", http_line=""):
    def command(target):
        http = target.kind == "http"
        text = _CONFIG + (_HTTP if http else _STREAM)
        tls = {
            "tls-term": f"ssl_certificate {target.certificate}; ssl_certificate_key {target.certificate}; ssl_protocols TLSv1.3;",
            "tls-init": "proxy_ssl on; proxy_ssl_protocols TLSv1.3;",
        }.get(target.kind, "")
        ssl = " ssl" if target.kind == "tls-term" else ""
        line = http_line if http else stream_line
        text = text.format(module=_MODULE, line=line, ssl=ssl, tls=tls, **vars(target))
        return [target.program, "-p", target.folder, "-e", "stderr", "-c", target.write("nginx.conf", text)]

    return command


def _proxy(name, what, *lines):
    return Proxy(
        name,
        what,
        program="nginx",
        kinds=("relay", "http", "tls-term", "tls-init"),
        command=_command(*lines),
        version=("-v",),
        needs=(_MODULE,),
        packages=("nginx", "libnginx-mod-stream"),
    )


PROXIES = [
    _proxy("nginx", "stream with proxy_half_close on, 16 KB buffers; HTTP with keepalive 1024"),
    _proxy("nginx-64k", "64 KB buffers", "proxy_buffer_size 64k;", "proxy_buffers 8 64k; proxy_buffer_size 64k;"),
]
