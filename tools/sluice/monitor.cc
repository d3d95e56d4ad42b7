#include "tools/sluice/monitor.h"

#include <sys/stat.h>

#include "sys/base/root_path.h"

namespace sluice::tools {

Monitor::State Monitor::Look(const std::string& path) {
  struct stat info;
  if (stat(sys::PathInRoot(path).c_str(), &info) != 0) return {};
  return {true, info.st_mtim.tv_sec * int64_t{1'000'000'000} + info.st_mtim.tv_nsec, info.st_size, info.st_ino,
          info.st_dev};
}

void Monitor::SetFiles(const std::vector<std::string>& paths, const Say& say) {
  files_.clear();
  for (const std::string& path : paths) {
    files_.push_back({path, Look(path)});
    if (!files_.back().state.there) say("warning: monitor " + path + ": there is no such file yet");
  }
}

bool Monitor::Changed(const Say& say) {
  bool changed = false;
  for (File& file : files_) {
    const State now = Look(file.path);
    if (now == file.state) continue;
    // A file that disappears is about to be replaced, or its reader could not be served anyway: its coming back is the
    // change.
    if (now.there) {
      changed = true;
    } else {
      say("warning: monitor " + file.path + ": the file is gone");
    }
    file.state = now;
  }
  return changed;
}

}  // namespace sluice::tools
