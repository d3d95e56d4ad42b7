"""Macros for the kinds of test that sluice has."""

_FULLY_STATIC = select({
    "//:sanitized": [],
    "//conditions:default": ["fully_static_link"],
})

def sluice_binary(name, deps, **kwargs):
    """A program that ships: fully static, except under a sanitizer, whose runtime cannot be."""
    native.cc_binary(
        name = name,
        deps = deps,
        features = _FULLY_STATIC,
        **kwargs
    )

def unit_test(name, srcs, deps = [], size = "small", tags = [], **kwargs):
    """A GoogleTest in a network namespace of its own (lo is up), so that no two tests share a port."""
    native.cc_test(
        name = name,
        srcs = srcs,
        size = size,
        tags = tags + (["block-network"] if "local" not in tags else []),
        deps = deps + ["@system//:gtest_main"],
        **kwargs
    )

def fuzz_test(name, srcs, deps = [], corpus = []):
    """LLVMFuzzerTestOneInput: a libFuzzer program under --config=fuzz, else a test that replays the corpus."""
    native.cc_test(
        name = name,
        size = "small",
        srcs = srcs + select({
            "//:fuzzing": [],
            "//conditions:default": ["//tools/bazel:replay_main.cc"],
        }),
        args = select({
            "//:fuzzing": ["-runs=0"],
            "//conditions:default": [],
        }) + ["$(rootpaths %s)" % c for c in corpus],
        data = corpus,
        linkopts = select({
            "//:fuzzing": ["-fsanitize=fuzzer"],
            "//conditions:default": [],
        }),
        tags = ["fuzz"],
        deps = deps,
    )

def header_alone_test(name, headers, deps):
    """Compiles each header ("pkg/file.h") by itself: a header names all that it uses."""
    sources = []
    for header in headers:
        source = name + "_" + header.replace("/", "_").replace(".h", "") + ".cc"
        native.genrule(
            name = source + "_rule",
            outs = [source],
            cmd = "echo '#include \"%s\"' > $@" % header,
            testonly = True,
        )
        sources.append(source)
    native.cc_library(
        name = name,
        testonly = True,
        srcs = sources,
        deps = deps,
    )
