"""Debian's libraries as Bazel targets: @system//:NAME, linked statically where a static library exists.

Headers come from /usr/include, which the compiler knows: no target here has headers or include folders.
"""

# name -> (pkg-config modules, modules owned by another target here -> that target)
_LIBRARIES = {
    "abseil": ([
        "absl_status",
        "absl_statusor",
        "absl_strings",
        "absl_str_format",
        "absl_flat_hash_map",
        "absl_flat_hash_set",
        "absl_time",
        "absl_span",
        "absl_inlined_vector",
        "absl_cleanup",
        "absl_optional",
        "absl_random_random",
        "absl_any_invocable",
    ], []),
    "crypto": (["libcrypto"], []),
    "ssl": (["libssl"], ["crypto"]),
    "uring": (["liburing"], []),
    "cares": (["libcares"], []),
    "pcre2": (["libpcre2-8"], []),
    "gtest": (["gmock", "gtest"], []),
    "gtest_main": (["gmock_main"], []),
    "benchmark": (["benchmark"], []),
}

# Empty or folded into libc since glibc 2.34.
_DROPPED = ["-lpthread", "-pthread", "-ldl", "-lrt", "-latomic", "-Wl,--push-state,--as-needed", "-Wl,--push-state", "-Wl,--as-needed", "-Wl,--pop-state", "-Wl,--no-as-needed"]

_FOLDERS = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib"]

def _words(ctx, modules):
    result = ctx.execute(["pkg-config", "--static", "--libs"] + modules)
    if result.return_code:
        fail("pkg-config does not know %s: %s\ntools/run and tools/test install what is missing" % (" ".join(modules), result.stderr))
    return [w for w in result.stdout.strip().split(" ") if w and w not in _DROPPED]

def _archive(ctx, word):
    for folder in _FOLDERS:
        path = "%s/lib%s.a" % (folder, word[2:])
        if ctx.path(path).exists:
            return path
    return None

def _implementation(ctx):
    rules = ['package(default_visibility = ["//visibility:public"])']
    for name, (modules, owned) in _LIBRARIES.items():
        others = [w for o in owned for w in _words(ctx, _LIBRARIES[o][0])]
        archives, options = [], []
        for word in _words(ctx, modules):
            if word in others:
                continue
            path = _archive(ctx, word) if word.startswith("-l") else None
            if not path:
                options.append(word)
            else:
                link = "%s/%s" % (name, path.split("/")[-1])

                # The linker goes over static libraries once: of several places the last one counts.
                if link in archives:
                    archives.remove(link)
                else:
                    ctx.symlink(path, link)
                archives.append(link)
        if name == "gtest_main":
            # The two libraries that it needs are the ones of :gtest.
            archives = [a for a in archives if a.endswith("libgmock_main.a")]
        rules.append("cc_library(name = %r, srcs = %r, linkopts = %r + [\"-lpthread\"], linkstatic = True, deps = %r)" % (
            name,
            archives,
            options,
            [":" + o for o in owned] + ([":gtest"] if name == "gtest_main" else []),
        ))
    rules.append('cc_library(name = "crypt", srcs = ["crypt/libcrypt.a"], linkstatic = True)')
    for folder in _FOLDERS:
        if ctx.path(folder + "/libcrypt.a").exists:
            ctx.symlink(folder + "/libcrypt.a", "crypt/libcrypt.a")
            break
    ctx.file("BUILD", "\n".join(rules) + "\n")

system_libraries = repository_rule(
    implementation = _implementation,
    local = True,
    configure = True,
    environ = ["PKG_CONFIG_PATH"],
)
