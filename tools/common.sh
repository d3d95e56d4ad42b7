# What tools/run and tools/test share: the Debian packages they need, and how to call Bazel. Sourced, not run.
#
# Only bash, dpkg and apt are needed to get started; everything else is installed here.

# What building //:sluice needs. One list for both scripts, so that a tree that builds is a tree that can be tested.
BUILD_PACKAGES=(
  bazel-bootstrap bazel-platforms bazel-rules-java bazel-rules-proto
  g++ pkg-config
  libabsl-dev libbenchmark-dev libc-ares-dev libcrypt-dev libgmock-dev libgtest-dev libpcre2-dev libssl-dev liburing-dev
)

# What the tests run beside the binary: scripts, the format check, and real programs as clients and origins.
TEST_PACKAGES=(
  clang-format-14 iproute2 python3 strace
  curl git haproxy iperf3 netcat-openbsd nftables nginx openssl proxychains4 python3-httpx python3-pyftpdlib
  python3-websockets socat wget wrk
)

# The sanitizers are clang's.
SANITIZER_PACKAGES=(clang-14 libclang-rt-14-dev lld-14)

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

die() {
  say "$*"
  exit 1
}

is_installed() { [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

# need_packages NAME...: installs what is missing; instant, and without root or a network, when nothing is.
need_packages() {
  local package missing=() root=()
  command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
    die "this script installs Debian 12 packages and finds no apt-get; install by hand what corresponds to: $*"
  for package in "$@"; do
    is_installed "$package" || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    command -v sudo >/dev/null ||
      die "packages are missing, and neither root nor sudo is here to install them. As root:
  apt-get install --no-install-recommends ${missing[*]}"
    root=(sudo)
  fi
  say "installing ${missing[*]}"
  "${root[@]}" bash -c "$INSTALL" install "${missing[@]}" >&2 ||
    die "apt-get could not install ${missing[*]} (see above); sluice builds on Debian 12 (bookworm)"
}

# As root. Packages such as nginx start themselves when they are installed, which nobody asked for: policy-rc.d says no
# meanwhile, unless the machine has a policy of its own. A stale or partly unreachable index is no failure yet: the
# packages may be known already.
# shellcheck disable=SC2016
INSTALL='
export DEBIAN_FRONTEND=noninteractive
apt=(apt-get -q -y -o DPkg::Lock::Timeout=300)
policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]] && printf "#!/bin/sh\nexit 101\n" >$policy && chmod +x $policy; then
  trap "rm -f $policy" EXIT
fi
"${apt[@]}" update || echo "apt-get update failed (see above); trying with the package lists at hand"
"${apt[@]}" install --no-install-recommends "$@"
'

# Debian's Bazel 4. Another `bazel` in PATH (a wrapper that downloads) would read .bazelversion differently.
BAZEL=bazel
[[ ! -x /usr/bin/bazel-4 ]] || BAZEL=/usr/bin/bazel-4
# Bazel wants a home for its output folder; cron and bare containers set none.
export HOME="${HOME:-$(getent passwd "$EUID" | cut -d: -f6)}"
