#include "bench/tool/command.h"

#include <cstdio>
#include <string>

#include "sys/process/limits.h"
#include "sys/thread/affinity.h"

namespace sluice::bench {
namespace {

constexpr double kMostServingSeconds = 7 * 24 * 3600;

int Say(const char* program, const absl::Status& what, int exit_status) {
  fprintf(stderr, "%s: %s\n", program, std::string(what.message()).c_str());
  return exit_status;
}

}  // namespace

int Help(const char* text) {
  fputs(text, stdout);
  return 0;
}

int CannotRun(const char* program, const absl::Status& why) { return Say(program, why, 1); }

int Usage(const char* program, const absl::Status& what) {
  Say(program, what, 2);
  fprintf(stderr, "%s --help tells more\n", program);
  return 2;
}

absl::StatusOr<std::unique_ptr<Reactor>> PrepareProcess(int cpu) {
  if (cpu >= 0) {
    if (absl::Status status = sys::PinThisThread(cpu); !status.ok()) return status;
  }
  if (absl::StatusOr<sys::ResourceLimit> limit = sys::RaiseOpenFilesLimit(); !limit.ok()) return limit.status();
  return Reactor::Create();
}

ServerOptions TakeServerOptions(Arguments& arguments) {
  ServerOptions options;
  options.cpu = static_cast<int>(arguments.Int("cpu", -1, 0, kMostCpu));
  options.seconds = arguments.Number("seconds", 3600, 0, kMostServingSeconds);
  return options;
}

int Serve(Reactor& reactor, const std::string& name, const ServerOptions& options) {
  printf("ready %s\n", name.c_str());
  fflush(stdout);
  const sys::MonotonicNanos end = Now() + static_cast<int64_t>(options.seconds * sys::kNanosPerSecond);
  while (!reactor.interrupted() && Now() < end) reactor.Turn(end);
  return 0;
}

}  // namespace sluice::bench
