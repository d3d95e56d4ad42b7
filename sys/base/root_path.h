#ifndef SLUICE_SYS_BASE_ROOT_PATH_H_
#define SLUICE_SYS_BASE_ROOT_PATH_H_

#include <string>

namespace sluice::sys {

// A chroot changes what every path means, but the paths of a configuration stay those of the world outside, since it is
// read before and after. Whoever opens, looks at or removes such a path asks PathInRoot() for what it is called now.

// From here on the folder `outside`, an absolute path, is this process's root. Once, by who calls chroot(2). Main
// thread.
void EnteredRoot(const std::string& outside);

// `path` without the root's folder in front, where it lies in it; any other path as it is. Thread-safe.
std::string PathInRoot(const std::string& path);

// The same for any `root`; empty or "/" leaves every path as it is. Pure.
std::string PathInRoot(const std::string& path, const std::string& root);

}  // namespace sluice::sys

#endif  // SLUICE_SYS_BASE_ROOT_PATH_H_
