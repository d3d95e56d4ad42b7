#include "bench/mix/load.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <memory>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/tool/command.h"
#include "sys/process/limits.h"

namespace sluice::bench::mix {
namespace {

constexpr int64_t kOpeningAtOnce = 128;  // well under any listen queue
constexpr int64_t kOpenPauseNanos = 10 * sys::kNanosPerMilli;
constexpr int64_t kOpenAllSeconds = 60;
constexpr int kExpireParts = 64;

double ProcessCpuSeconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

int64_t Nanos(double seconds) { return static_cast<int64_t>(seconds * sys::kNanosPerSecond); }

}  // namespace

Load::Load(Reactor& reactor, const LoadOptions& options)
    : reactor_(reactor),
      options_(options),
      route_{options.via, options.via == Via::kNone ? options.origin : options.proxy, options.origin,
             options.http_half_close},
      counters_(OpenCounters(options.counters)),
      random_(options.seed) {
  figures_.open = options.open;
  figures_.active = options.active;
  for (int64_t i = 0; i < options.open; ++i) {
    closed_.push_back(&connections_.emplace_back(reactor_, route_, static_cast<Connection::Owner&>(*this)));
  }
}

absl::Status Load::Run() {
  if (absl::Status status = OpenAll(); !status.ok()) return status;
  return Measure();
}

absl::Status Load::OpenAll() {
  const sys::MonotonicNanos deadline = Now() + kOpenAllSeconds * sys::kNanosPerSecond;
  while (static_cast<int64_t>(idle_.size()) < options_.open) {
    const sys::MonotonicNanos now = Now();
    if (now >= deadline || figures_.failed() > 100 + options_.open / 10) {
      return absl::UnavailableError(
          absl::StrCat("only ", idle_.size(), " of ", options_.open, " connections could be opened",
                       figures_.failed() > 0 ? absl::StrCat("; the first failure was ", figures_.first_failure) : ""));
    }
    if (reactor_.interrupted()) return Trouble();
    Turn(now, deadline);
  }
  return absl::OkStatus();
}

absl::Status Load::Measure() {
  const sys::MonotonicNanos start = Now();
  counters_.started_nanos = static_cast<uint64_t>(start);
  counters_.phase = Phase::kRunning;
  measure_from_ = start + Nanos(options_.warmup_seconds);
  measure_to_ = measure_from_ + Nanos(options_.seconds);
  const sys::MonotonicNanos end = measure_to_ + Nanos(options_.timeout_seconds);
  arrivals_ = Arrivals(options_.rate, start, measure_to_);
  Mark from, to;
  absl::Status trouble;
  while (true) {
    const sys::MonotonicNanos now = Now();
    trouble = Trouble();
    if (from.at == 0 && now >= measure_from_) from = MarkNow(now);
    if (to.at == 0 && (now >= measure_to_ || !trouble.ok())) to = MarkNow(now);
    const bool all_over = now >= measure_to_ && in_flight_ == 0 && arrivals_.Next(now) == Arrivals::kNever;
    if (all_over || now >= end || !trouble.ok()) break;
    Turn(now, from.at == 0 ? measure_from_ : to.at == 0 ? measure_to_ : end);
  }
  if (from.at != 0) {
    figures_.exchanges = to.exchanges - from.exchanges;
    figures_.bytes = to.bytes - from.bytes;
    figures_.seconds = static_cast<double>(to.at - from.at) / sys::kNanosPerSecond;
    figures_.cpu_seconds = to.cpu_seconds - from.cpu_seconds;
  }
  counters_.phase = Phase::kDone;
  RecordUnfinished(Now());
  return trouble;
}

absl::Status Load::Trouble() const {
  if (reactor_.interrupted()) return absl::CancelledError("ended by a signal");
  if (figures_.failed() > 1000 + 10 * options_.open) {
    return absl::UnavailableError(
        absl::StrCat("given up after ", figures_.failed(), " failures; the first one was ", figures_.first_failure));
  }
  return absl::OkStatus();
}

void Load::Turn(sys::MonotonicNanos now, sys::MonotonicNanos until) {
  OpenSome(now);
  BeginDue(now);
  if (now >= expire_at_) ExpireSome(now);
  until = std::min({until, expire_at_, NextDue(now)});
  if (!closed_.empty() && opening_ < kOpeningAtOnce) until = std::min(until, open_again_at_);
  reactor_.Turn(until);
}

// In turns over all of them: looking at 9000 at once would show in the latencies.
void Load::ExpireSome(sys::MonotonicNanos now) {
  const size_t part = connections_.size() / kExpireParts + 1;
  for (size_t i = 0; i < part; ++i, ++expire_next_) {
    if (expire_next_ >= connections_.size()) expire_next_ = 0;
    connections_[expire_next_].Expire(now - Nanos(options_.timeout_seconds));
  }
  expire_at_ = now + Nanos(std::min(1.0, options_.timeout_seconds / 4)) / kExpireParts;
}

void Load::OpenSome(sys::MonotonicNanos now) {
  while (!closed_.empty() && opening_ < kOpeningAtOnce && now >= open_again_at_) {
    Connection* const connection = closed_.back();
    closed_.pop_back();
    ++opening_;
    connection->Open();
  }
}

void Load::BeginDue(sys::MonotonicNanos now) {
  while (NextDue(now) <= now) {
    Connection& connection = *idle_[random_.Below(idle_.size())];
    TakeIdle(connection);
    ++in_flight_;
    const sys::MonotonicNanos due = arrivals_.Next(now);
    arrivals_.Take();
    connection.Begin(NextRequest(), due);
  }
}

sys::MonotonicNanos Load::NextDue(sys::MonotonicNanos now) const {
  return in_flight_ < options_.active && !idle_.empty() ? arrivals_.Next(now) : Arrivals::kNever;
}

Request Load::NextRequest() {
  Request request;
  request.id = ++requests_;
  request.bytes = NextAnswerBytes(random_);
  request.last = static_cast<int64_t>(random_.Below(100)) < options_.half_closing_percent;
  return request;
}

// An exchange that is not over has taken at least as long as it has been waiting: leaving it out would flatter.
void Load::RecordUnfinished(sys::MonotonicNanos now) {
  const auto record = [&](sys::MonotonicNanos due) {
    if (due < measure_from_ || due >= measure_to_) return;
    ++figures_.unfinished;
    figures_.Record(now - due);
  };
  for (const Connection& connection : connections_) {
    if (connection.in_exchange()) record(connection.due());
  }
  if (!arrivals_.open_loop()) return;
  for (; arrivals_.Next(now) < std::min(now, measure_to_); arrivals_.Take()) record(arrivals_.Next(now));
}

Load::Mark Load::MarkNow(sys::MonotonicNanos now) const {
  return {now, answered_, answered_bytes_, ProcessCpuSeconds()};
}

void Load::AddIdle(Connection& connection) {
  connection.idle_index = idle_.size();
  idle_.push_back(&connection);
}

void Load::TakeIdle(Connection& connection) {
  Connection* const last = idle_.back();
  idle_[connection.idle_index] = last;
  last->idle_index = connection.idle_index;
  idle_.pop_back();
  connection.idle_index = Connection::kNotIdle;
}

void Load::OnOpen(Connection& connection) {
  --opening_;
  AddIdle(connection);
}

void Load::OnAnswered(Connection& connection, bool idle) {
  --in_flight_;
  ++answered_;
  answered_bytes_ += connection.request().bytes;
  Counters::Add(counters_.exchanges, 1);
  Counters::Add(counters_.received_bytes, connection.request().bytes);
  if (connection.due() >= measure_from_ && connection.due() < measure_to_) figures_.Record(Now() - connection.due());
  if (idle) AddIdle(connection);
}

void Load::OnFailed(Connection& connection, Failure failure, const std::string& what, bool in_exchange) {
  figures_.Count(failure, what);
  Counters::Add(counters_.errors, 1);
  open_again_at_ = Now() + kOpenPauseNanos;
  if (in_exchange) {
    --in_flight_;
  } else if (connection.idle_index != Connection::kNotIdle) {
    TakeIdle(connection);
  } else {
    --opening_;
  }
}

void Load::OnIdleEnd(Connection& connection) {
  ++figures_.idle_ends;
  TakeIdle(connection);
}

void Load::OnClosed(Connection& connection) { closed_.push_back(&connection); }

namespace {

int64_t ProxyLimit(int64_t pid, int64_t own) {
  if (pid == 0) return own;
  std::ifstream file(absl::StrCat("/proc/", pid, "/limits"));
  std::stringstream text;
  text << file.rdbuf();
  return ParseOpenFilesLimit(text.str()).value_or(own);
}

// What --open and --active are when they were not given.
absl::Status FillIn(LoadOptions& options) {
  if (options.open == 0) {
    const int64_t own = sys::OpenFilesLimit().soft;
    // Without a proxy the origin's limit, which is that of this program, is as good as twice that of a proxy.
    const int64_t proxy = options.via == Via::kNone ? 2 * own : ProxyLimit(options.proxy_pid, own);
    options.open = MostConnections(own, proxy);
    const std::string of_proxy =
        options.via == Via::kNone
            ? ""
            : absl::StrCat(", the proxy ", proxy, options.proxy_pid == 0 ? " (taken to be the same)" : "");
    fprintf(stderr, "mix load: %lld connections: this program may open %lld files%s\n",
            static_cast<long long>(options.open), static_cast<long long>(own), of_proxy.c_str());
  }
  if (options.active > options.open) {
    return absl::ResourceExhaustedError(
        absl::StrCat("--active ", options.active, ": only ", options.open, " connections can be open"));
  }
  if (options.active == 0) options.active = std::max<int64_t>(options.open / 10, 1);
  return absl::OkStatus();
}

}  // namespace

int RunLoad(std::vector<std::string> words) {
  absl::StatusOr<LoadOptions> options = ParseLoadOptions(std::move(words));
  if (!options.ok()) return Usage("mix load", options.status());
  if (options->help) return Help(kLoadHelp);
  absl::StatusOr<std::unique_ptr<Reactor>> reactor = PrepareProcess(options->cpu);
  if (!reactor.ok()) return CannotRun("mix load", reactor.status());
  if (absl::Status status = FillIn(*options); !status.ok()) return CannotRun("mix load", status);
  Load load(**reactor, *options);
  const absl::Status status = load.Run();
  const Figures& figures = load.figures();
  fputs((options->json ? figures.Json() : figures.Text()).c_str(), stdout);
  if (!status.ok()) return CannotRun("mix load", status);
  if (figures.failed() > 0 && options->json) {
    fprintf(stderr, "mix load: %lld failed; the first one was %s\n", static_cast<long long>(figures.failed()),
            figures.first_failure.c_str());
  }
  return figures.failed() > 0 ? 1 : 0;
}

}  // namespace sluice::bench::mix
