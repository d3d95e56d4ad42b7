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
TEST_PACKAGES=(clang-format-14 curl iproute2 openssl python3-minimal python3)

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
  root+=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300)
  say "installing ${missing[*]}"
  # A stale or partly unreachable index is no failure yet: the packages may be known already.
  "${root[@]}" update >&2 || say "apt-get update failed (see above); trying with the package lists at hand"
  "${root[@]}" install --no-install-recommends "${missing[@]}" >&2 ||
    die "apt-get could not install ${missing[*]} (see above); sluice builds on Debian 12 (bookworm)"
}

# Debian's Bazel 4. Another `bazel` in PATH (a wrapper that downloads) would read .bazelversion differently.
BAZEL=bazel
[[ ! -x /usr/bin/bazel-4 ]] || BAZEL=/usr/bin/bazel-4
# Bazel wants a home for its output folder; cron and bare containers set none.
export HOME="${HOME:-$(getent passwd "$EUID" | cut -d: -f6)}"
