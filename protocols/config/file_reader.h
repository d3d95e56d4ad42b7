#ifndef SLUICE_PROTOCOLS_CONFIG_FILE_READER_H_
#define SLUICE_PROTOCOLS_CONFIG_FILE_READER_H_

#include <cstddef>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace sluice::config {

// The most that one configuration reads: its own text, what it includes and the texts behind its `$file` words taken
// together. Far above any real one (a million users take 50 MB), far below what would hurt the machine when a path
// names a device or a log by mistake.
constexpr size_t kConfigurationLimitBytes = size_t{64} << 20;

// How a configuration reaches files. An interface so that the language can be tested and fuzzed without any.
class FileReader {
 public:
  virtual ~FileReader() = default;

  // The whole file. A file of more than `limit_bytes` is OutOfRange; other errors carry what the system said, without
  // the path ("No such file or directory").
  virtual absl::StatusOr<std::string> Read(const std::string& path, size_t limit_bytes) = 0;
};

// The files of this machine. "-" is standard input. Relative paths begin at the working directory, not at the folder of
// the file that names them, as 3proxy has it.
//
// Inside a chroot the paths of the configuration are still those of the world outside: `chroot_prefix`, when not empty,
// is cut from the beginning of a path that lies under it.
//
// May block with `kWait` (a FIFO waits for its writer, as `sluice <(make-config)` wants it). `kRefuse` is for a process
// that serves already: a FIFO is an error then.
//
// Thread-compatible.
class SystemFileReader : public FileReader {
 public:
  enum class Fifos { kWait, kRefuse };

  explicit SystemFileReader(std::string chroot_prefix = "", Fifos fifos = Fifos::kWait)
      : chroot_prefix_(std::move(chroot_prefix)), fifos_(fifos) {}

  absl::StatusOr<std::string> Read(const std::string& path, size_t limit_bytes) override;

 private:
  const std::string chroot_prefix_;
  const Fifos fifos_;
};

// A reader that hands out at most `limit_bytes` in all.
//
// Thread-compatible.
class BudgetReader : public FileReader {
 public:
  // `reader` must outlive this object.
  BudgetReader(FileReader& reader, size_t limit_bytes) : reader_(reader), left_(limit_bytes) {}

  absl::StatusOr<std::string> Read(const std::string& path, size_t limit_bytes) override;

 private:
  FileReader& reader_;
  size_t left_;
};

}  // namespace sluice::config

#endif  // SLUICE_PROTOCOLS_CONFIG_FILE_READER_H_
