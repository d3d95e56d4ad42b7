#include "tools/sluice/flags.h"

#include <cmath>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace sluice::tools {
namespace {

constexpr int kMostWorkers = 1024;
constexpr int kMostHandshakeThreads = 65536;
constexpr double kMostSeconds = 86400 * 365;

absl::Status BadValue(absl::string_view flag, absl::string_view value, absl::string_view wanted) {
  return absl::InvalidArgumentError(absl::StrCat(flag, "=", value, ": ", wanted));
}

absl::Status ParseCount(absl::string_view flag, absl::string_view value, int most, int& out) {
  int number = 0;
  if (!absl::SimpleAtoi(value, &number) || number < 1 || number > most) {
    return BadValue(flag, value, absl::StrCat("a whole number from 1 to ", most, " is wanted"));
  }
  out = number;
  return absl::OkStatus();
}

absl::Status ParseSeconds(absl::string_view flag, absl::string_view value, int64_t& nanos) {
  double seconds = 0;
  if (absl::EndsWith(value, "s")) value.remove_suffix(1);
  if (!absl::SimpleAtod(value, &seconds) || !std::isfinite(seconds) || seconds < 0 || seconds > kMostSeconds) {
    return BadValue(flag, value, "seconds are wanted, such as 20 or 0.5");
  }
  nanos = static_cast<int64_t>(seconds * 1e9);
  return absl::OkStatus();
}

absl::Status ParseBackend(absl::string_view value, sys::Backend& out) {
  if (value == "auto") {
    out = sys::Backend::kAuto;
  } else if (value == "uring") {
    out = sys::Backend::kUring;
  } else if (value == "epoll") {
    out = sys::Backend::kEpoll;
  } else {
    return BadValue("--backend", value, "auto, uring or epoll is wanted");
  }
  return absl::OkStatus();
}

absl::Status ParseFlag(absl::string_view name, absl::string_view value, Flags& flags) {
  if (name == "--backend") return ParseBackend(value, flags.backend);
  if (name == "--workers") return ParseCount(name, value, kMostWorkers, flags.workers);
  if (name == "--handshake-threads") return ParseCount(name, value, kMostHandshakeThreads, flags.handshake_threads);
  if (name == "--lameduck") return ParseSeconds(name, value, flags.lameduck_nanos);
  if (name == "--drain-timeout") return ParseSeconds(name, value, flags.drain_timeout_nanos);
  return absl::InvalidArgumentError(absl::StrCat(name, ": unknown option; sluice --help lists them"));
}

bool TakesValue(absl::string_view name) {
  return name == "--backend" || name == "--workers" || name == "--handshake-threads" || name == "--lameduck" ||
         name == "--drain-timeout";
}

// A word that is no option: a command or the configuration.
absl::Status TakeWord(const std::string& word, bool first, std::vector<std::string>& words, Flags& flags) {
  if (first && words.empty() && word == "check") {
    flags.command = Flags::Command::kCheck;
  } else if (first && words.empty() && word == "version") {
    flags.command = Flags::Command::kVersion;
  } else if (first && words.empty() && word == "help") {
    flags.command = Flags::Command::kHelp;
  } else {
    words.push_back(word);
  }
  return absl::OkStatus();
}

absl::Status FinishWords(const std::vector<std::string>& words, Flags& flags) {
  if (words.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("one configuration is wanted, there are ", words.size(), ": ", words[0], " and ", words[1]));
  }
  // A script's variable that was never set: not to be taken for the embedded default.
  if (!words.empty() && words[0].empty()) {
    return absl::InvalidArgumentError("the name of the configuration is empty; give a file, or - for standard input");
  }
  if (!words.empty()) flags.config = words[0];
  if (flags.command == Flags::Command::kCheck && words.empty()) {
    return absl::InvalidArgumentError("check: a configuration is wanted: sluice check FILE (or - for standard input)");
  }
  if (flags.command == Flags::Command::kVersion && !words.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("version takes no argument, there is ", words[0]));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Flags> ParseFlags(const std::vector<std::string>& arguments) {
  Flags flags;
  std::vector<std::string> words;
  bool first_word = true;
  bool options_over = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (options_over || argument == "-" || !absl::StartsWith(argument, "-")) {
      if (absl::Status status = TakeWord(argument, first_word, words, flags); !status.ok()) return status;
      first_word = false;
      continue;
    }
    if (argument == "--") {
      options_over = true;
      continue;
    }
    if (argument == "--help" || argument == "-h") {
      flags.command = Flags::Command::kHelp;
      return flags;
    }
    if (argument == "--version") {
      flags.command = Flags::Command::kVersion;
      return flags;
    }
    if (argument == "--allow-system") {
      flags.allow_system = true;
      continue;
    }
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
    if (equals == std::string::npos && TakesValue(name)) {
      if (i + 1 == arguments.size()) return absl::InvalidArgumentError(absl::StrCat(name, ": a value is wanted"));
      value = arguments[++i];
    }
    if (absl::Status status = ParseFlag(name, value, flags); !status.ok()) return status;
  }
  if (absl::Status status = FinishWords(words, flags); !status.ok()) return status;
  return flags;
}

std::string HelpText() {
  return R"(sluice: a proxy server for Linux, configured in 3proxy's language

usage: sluice [OPTIONS] [CONFIG]      run CONFIG, or standard input if it is -;
                                      without CONFIG the embedded default
       sluice [OPTIONS] check CONFIG  say what is wrong with CONFIG and exit:
                                      0 = it can be run, 1 = it cannot
       sluice version                 which version this is

options:
  --backend=auto|uring|epoll  the event loop; auto (the default) takes io_uring
                              where the kernel allows it, else epoll
  --workers=N                 threads that move bytes (default: one for each
                              CPU that this process may use)
  --handshake-threads=N       the most threads that wait for name servers and
                              the like (default 1024; made when needed)
  --lameduck=SECONDS          after SIGTERM, accept for so long before ending
                              (default 0)
  --drain-timeout=SECONDS     then, the time that running connections have to
                              end by themselves (default 20)
  --allow-system              the configuration may run shell commands (system)
  --help, --version

Access records go where `log` in the configuration says; everything else is
said on standard error. SIGTERM and SIGINT end sluice after a drain, twice at once;
SIGHUP and SIGUSR1 read the configuration again.

exit status: 0 after a drain, 1 when the configuration or a port cannot be had,
2 for a command line that makes no sense
)";
}

}  // namespace sluice::tools
