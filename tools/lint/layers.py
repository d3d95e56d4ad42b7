"""Who may use whom: the layers of README.md as a table; presubmit holds includes to it, layers Bazel's dependencies."""

# Each package belongs to the longest prefix that fits. "" is the root package.
_SUPPORT = ('protocols/access', 'protocols/auth', 'protocols/accounting', 'protocols/upstream', 'protocols/dns')
_SPEAKERS = ('protocols/http', 'protocols/socks', 'protocols/gateways', 'protocols/admin')
_BELOW_SUPPORT = ('relay', 'tls', 'sys')
_BELOW_SERVICE = _SUPPORT + _BELOW_SUPPORT
_BELOW_SPEAKERS = ('protocols/service',) + _BELOW_SERVICE
_BELOW_CONFIG = _SPEAKERS + _BELOW_SPEAKERS

ALLOWED = {
    'sys': (),
    'relay': ('sys',),
    'tls': ('sys',),
    'protocols/service': _BELOW_SERVICE,
    'protocols/config': _BELOW_CONFIG,
    'protocols/testing': _BELOW_CONFIG,
    'tools': _BELOW_CONFIG + ('protocols/config', 'protocols/testing', 'bench', ''),
    'bench': _BELOW_CONFIG + ('protocols/config', 'protocols/testing', 'tools', ''),
    '': _BELOW_CONFIG + ('protocols/config', 'tools'),
    'testdata': (),
}
ALLOWED.update({package: _SUPPORT + _BELOW_SUPPORT for package in _SUPPORT})
ALLOWED.update({package: _SPEAKERS + _BELOW_SPEAKERS for package in _SPEAKERS})

# Data, build rules and the root's configuration settings are no code: everybody may name them. Test helpers of
# protocols are kept out of the product by Bazel's testonly.
_FOR_ALL = ('testdata', 'tools/bazel', 'protocols/testing')

# Libraries that one place wraps: nobody else includes them.
THIRD_PARTY = {
    'liburing': ('sys/ring',),
    'openssl': ('tls', 'protocols/auth', 'bench', 'tools'),
    'ares': ('protocols/dns',),
    'pcre2': ('protocols',),
    'crypt.h': ('protocols/auth',),
    'benchmark': ('bench',),
}


def within(package, prefix):
    """Whether `package` is `prefix` or lies below it."""
    return package == prefix or (prefix != '' and package.startswith(prefix + '/'))


def layer_of(package):
    """The layer that a package (a folder path, "" for the root) belongs to, or None for one that the table lacks."""
    fitting = [prefix for prefix in ALLOWED if within(package, prefix)]
    return max(fitting, key=len) if fitting else None


def may_use(user, used):
    """Whether code in package `user` may include or depend on package `used`."""
    user_layer, used_layer = layer_of(user), layer_of(used)
    if any(within(used, prefix) for prefix in _FOR_ALL):
        # The data phase and below do not reach up to the helpers of protocols, not even in tests.
        return not within(used, 'protocols') or within(user, 'protocols') or user_layer in ('tools', 'bench')
    if user_layer is None or used_layer is None:
        return False
    return user_layer == used_layer or used_layer in ALLOWED[user_layer]
