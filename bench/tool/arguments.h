#ifndef SLUICE_BENCH_TOOL_ARGUMENTS_H_
#define SLUICE_BENCH_TOOL_ARGUMENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "sys/net/socket_address.h"

namespace sluice::bench {

// The arguments of a command: `--name VALUE`, `--name=VALUE`, and `--name` alone for a flag.
//
//   Arguments arguments(words);
//   options.open = arguments.Int("open", 0, 1, 1'000'000);
//   options.json = arguments.Flag("json");
//   if (absl::Status status = arguments.Finish(); !status.ok()) return status;
//
// Asking makes a name known. What is wrong is remembered (the first fault counts) and told by Finish(), as
// InvalidArgument: a bad value, a name given twice, a word that nobody asked for. Until then a wrong value reads as the
// one for a missing option. Pure; Thread-compatible.
class Arguments {
 public:
  explicit Arguments(std::vector<std::string> words);

  bool Flag(absl::string_view name);
  // `missing` when the option is not there.
  std::string Text(absl::string_view name, absl::string_view missing);
  int64_t Int(absl::string_view name, int64_t missing, int64_t min, int64_t max);
  double Number(absl::string_view name, double missing, double min, double max);
  // "127.0.0.1:80", "[::1]:80"; kNone when the option is not there.
  sys::SocketAddress Address(absl::string_view name);
  // For what the caller finds wrong by itself.
  void Fault(const std::string& what);

  absl::Status Finish();

 private:
  struct Word {
    std::string text;
    bool used = false;
  };

  // The option's value, and whether it is there.
  bool Take(absl::string_view name, std::string* value);

  std::vector<Word> words_;
  std::vector<std::string> known_;
  absl::Status fault_;
};

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_TOOL_ARGUMENTS_H_
