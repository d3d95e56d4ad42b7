"""Black-box tests of the real binary."""

def e2e_test(name, srcs, loops = ["uring", "epoll"], data = [], args = [], tags = [], size = "medium", local = False, **kwargs):
    """One sh_test for each event loop: NAME_uring, NAME_epoll; a plain NAME where `loops` has one or none.

    Each has a network namespace of its own in which it is root (lo is up), unless `local`: then it is the real user on
    the host's network, which only tests of real privileges want. tools/test runs two of them at a time; the tag
    "alone" is for those that measure time, load or memory, or change something that all processes of the machine see.
    "second-loop" marks the half of a pair that short runs under a sanitizer leave out.
    """
    names = []
    for loop in loops or [""]:
        test = name + ("_" + loop if len(loops) > 1 else "")
        names.append(test)
        native.sh_test(
            name = test,
            srcs = srcs,
            args = ["$(rootpath //:sluice)"] + (["--backend=" + loop] if loop else []) + args,
            data = ["//:sluice", ":rig"] + data,
            size = size,
            # For the full form; in either form each case has a deadline of its own.
            timeout = "long" if size == "medium" else None,
            tags = ["e2e"] + tags +
                   (["second-loop"] if loop == "epoll" and len(loops) > 1 else []) +
                   (["local"] if local else ["block-network", "requires-fakeroot"]),
            **kwargs
        )
    if len(loops) > 1:
        native.test_suite(name = name, tests = names)
