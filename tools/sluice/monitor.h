#ifndef SLUICE_TOOLS_SLUICE_MONITOR_H_
#define SLUICE_TOOLS_SLUICE_MONITOR_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sluice::tools {

// `monitor FILE`: files whose change asks for a reload. A change is another modification time, size, or file (a
// ConfigMap is updated by turning a symbolic link, which leaves the old file's time as it was). A file that is not
// there is said once.
//
// 3proxy looks once a minute; this is called once a second, which costs a stat(2) each.
//
// Main thread only (may block).
class Monitor {
 public:
  using Say = std::function<void(const std::string&)>;

  void SetFiles(const std::vector<std::string>& paths, const Say& say);
  // Whether a file has changed since the last call.
  bool Changed(const Say& say);

 private:
  struct State {
    bool there = false;
    int64_t modified_nanos = 0;
    int64_t size = 0;
    ino_t inode = 0;
    dev_t device = 0;

    bool operator==(const State&) const = default;
  };
  struct File {
    std::string path;
    State state;
  };

  static State Look(const std::string& path);

  std::vector<File> files_;
};

}  // namespace sluice::tools

#endif  // SLUICE_TOOLS_SLUICE_MONITOR_H_
