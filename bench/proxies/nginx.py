"""nginx's stream module, one worker, no log."""

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
stream {{
    access_log off;
    proxy_timeout 1h;
    proxy_half_close on;
    {line}
    server {{
        listen {listen_ip}:{listen_port} backlog=4096;
        proxy_pass {origin_ip}:{origin_port};
    }}
}}
"""


def _command(line=""):
    def command(target):
        config = target.write("nginx.conf", _CONFIG.format(module=_MODULE, line=line, **vars(target)))
        return [target.program, "-p", target.folder, "-e", "stderr", "-c", config]

    return command


def _proxy(name, what, line=""):
    return Proxy(
        name,
        what,
        program="nginx",
        command=_command(line),
        version=("-v",),
        needs=(_MODULE,),
        package="apt-get install nginx libnginx-mod-stream",
    )


PROXIES = [
    _proxy("nginx", "stream, proxy_half_close on, 16 KB buffers"),
    _proxy("nginx-64k", "the same, proxy_buffer_size 64k", "proxy_buffer_size 64k;"),
]
