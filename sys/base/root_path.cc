#include "sys/base/root_path.h"

#include <atomic>

namespace sluice::sys {
namespace {

// Never freed: threads look at it until the very end.
std::atomic<const std::string*> g_root{nullptr};

}  // namespace

void EnteredRoot(const std::string& outside) { g_root.store(new std::string(outside), std::memory_order_release); }

std::string PathInRoot(const std::string& path) {
  const std::string* root = g_root.load(std::memory_order_acquire);
  return root == nullptr ? path : PathInRoot(path, *root);
}

std::string PathInRoot(const std::string& path, const std::string& root) {
  size_t length = root.size();
  while (length > 0 && root[length - 1] == '/') --length;
  const bool inside =
      length > 0 && path.size() > length && path[length] == '/' && path.compare(0, length, root, 0, length) == 0;
  return inside ? path.substr(length) : path;
}

}  // namespace sluice::sys
