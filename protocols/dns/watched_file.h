#ifndef SLUICE_PROTOCOLS_DNS_WATCHED_FILE_H_
#define SLUICE_PROTOCOLS_DNS_WATCHED_FILE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace sluice::dns {

// A small text file that others rewrite now and then (/etc/hosts, /etc/resolv.conf). A change is what stat() shows: the
// time of modification, the size or another file under the name (an editor's rename, a symlink that was swapped).
//
// Blocks (file I/O): resolver thread and start-up only. Thread-compatible.
class WatchedFile {
 public:
  // At most `max_bytes` are read; what lies beyond is ignored. An empty path is a file that does not exist.
  WatchedFile(std::string path, size_t max_bytes) : path_(std::move(path)), max_bytes_(max_bytes) {}

  // The text, if this is the first call or the file has changed since the last one. A file that cannot be read is an
  // empty one, as it is for the C library.
  std::optional<std::string> ReadIfChanged();

  const std::string& path() const { return path_; }

 private:
  struct Version {
    bool exists = false;
    uint64_t device = 0;
    uint64_t inode = 0;
    int64_t size = 0;
    int64_t modified_nanos = 0;

    friend bool operator==(const Version&, const Version&) = default;
  };

  Version Look() const;

  const std::string path_;
  const size_t max_bytes_;
  std::optional<Version> version_;
};

}  // namespace sluice::dns

#endif  // SLUICE_PROTOCOLS_DNS_WATCHED_FILE_H_
