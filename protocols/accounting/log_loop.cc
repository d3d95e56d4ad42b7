#include "protocols/accounting/log_loop.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <limits>

#include "absl/strings/str_cat.h"
#include "sys/base/errno_status.h"

namespace sluice::accounting {
namespace {

// Under load a batch is collected for so long before it is taken: 200 rounds a second at most, and a line is in the
// file while the operator still looks.
constexpr int64_t kCoalesceMillis = 5;

}  // namespace

LogLoop::LogLoop(LogThread::Options options)
    : options_(std::move(options)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void LogLoop::Wake() {
  const uint64_t one = 1;
  // Cannot fail but with EAGAIN at 2^64 - 1, when it is readable anyway.
  [[maybe_unused]] const ssize_t ignored = ::write(wake_.get(), &one, sizeof(one));
}

void LogLoop::Submit(LogChannelState* channel, TrafficRecord record) {
  if (channel->discard) return;
  switch (queue_.Put(channel, std::move(record))) {
    case LogQueue::PutResult::kQueued:
      return;
    case LogQueue::PutResult::kWake:
      return Wake();
    case LogQueue::PutResult::kRefused:
      counters_.dropped.fetch_add(1, std::memory_order_relaxed);
  }
}

void LogLoop::Control(LogItem::Kind kind, std::shared_ptr<LogChannelState> channel) {
  LogChannelState* const raw = channel.get();
  if (queue_.PutControl({kind, raw, std::move(channel), TrafficRecord()})) Wake();
}

LogStats LogLoop::stats() const {
  const auto value = [](const std::atomic<uint64_t>& counter) { return counter.load(std::memory_order_relaxed); };
  return {value(counters_.written), value(counters_.dropped), value(counters_.failed)};
}

std::unique_ptr<LogOutput> LogLoop::NewOutput(const LogTarget& target) const {
  switch (target.kind) {
    case LogTarget::Kind::kStdout:
      return NewSharedFdOutput(options_.stdout_fd);
    case LogTarget::Kind::kSyslog:
      return NewSyslogOutput(target.name, options_.syslog_path);
    case LogTarget::Kind::kFile:
      return NewFileOutput(target);
    case LogTarget::Kind::kDiscard:
      break;
  }
  return NewDiscardOutput();
}

absl::StatusOr<std::shared_ptr<LogChannelState>> LogLoop::Open(const LogTarget& target, const LogFormat& format) {
  auto state = std::make_shared<LogChannelState>();
  state->format = format;
  state->discard = target.kind == LogTarget::Kind::kDiscard;
  const auto gone = [](const auto& entry) { return entry.second.expired(); };
  opened_.erase(std::remove_if(opened_.begin(), opened_.end(), gone), opened_.end());
  for (const auto& [known, sink] : opened_) {
    if (known == target) state->sink = sink.lock();
  }
  if (state->sink == nullptr) {
    state->sink = std::make_shared<LogSink>(NewOutput(target), target.Describe(), options_.retry_nanos, counters_,
                                            options_.complain);
    const int64_t now = UnixSeconds();
    if (const int error = state->sink->Open(now); error != 0) {
      const std::string name = target.kind == LogTarget::Kind::kFile ? target.NameAt(now) : target.Describe();
      return sys::ErrnoStatus(error, absl::StrCat("cannot open log ", name));
    }
    opened_.emplace_back(target, state->sink);
  }
  Control(LogItem::Kind::kOpen, state);
  return state;
}

void LogLoop::AskToStop(sys::MonotonicNanos deadline) {
  queue_.Close();
  deadline_.store(deadline);
  stopping_.store(true);
  Wake();
}

bool LogLoop::WaitUntilDone(int64_t timeout_nanos) {
  const sys::MonotonicNanos until = sys::Clock::System().Now() + timeout_nanos;
  sys::MutexLock lock(done_mutex_);
  while (!done_) {
    const int64_t left = until - sys::Clock::System().Now();
    if (left <= 0) return false;
    done_changed_.WaitFor(done_mutex_, std::chrono::nanoseconds(left));
  }
  return true;
}

void LogLoop::Run() {
  bool last_round = false;
  for (bool hurried = false; !last_round;) {
    const bool stopping = stopping_.load();  // before Take: what was queued earlier is in this batch
    queue_.Take(batch_);
    const bool busy = !batch_.pieces.empty() || !batch_.refused.empty();
    for (std::vector<LogItem>& piece : batch_.pieces) {
      for (LogItem& item : piece) Handle(item);
    }
    // Counted when they were refused; the sink only has to tell them.
    for (const auto& [channel, records] : batch_.refused) channel->sink->Lost(records);
    if (stopping && !std::exchange(hurried, true)) {
      for (const auto& sink : sinks_) sink->Hurry();
    }
    FlushAll();
    TellGaps(stopping);
    RemoveIdleSinks();
    last_round = stopping && !StillDraining();
    if (!last_round) Wait(busy);
  }
  Finish();
}

void LogLoop::Handle(LogItem& item) {
  switch (item.kind) {
    case LogItem::Kind::kRecord:
      return HandleRecord(item);
    case LogItem::Kind::kOpen:
      AddSink(item.owner->sink);
      channels_.push_back(std::move(item.owner));
      return;
    case LogItem::Kind::kClose:
      // The batch may still name it as one that was refused records: it goes with the batch, when item.owner does.
      channels_.erase(std::remove(channels_.begin(), channels_.end(), item.owner), channels_.end());
      return;
    case LogItem::Kind::kReopen:
      FlushAll();
      for (const auto& sink : sinks_) sink->Reopen(UnixSeconds());
  }
}

void LogLoop::HandleRecord(const LogItem& item) {
  LogSink& sink = *item.channel->sink;
  std::string* buffer = sink.Buffer();
  if (buffer == nullptr) return sink.Drop(1);
  item.channel->format.Format(item.record, item.channel->times, *buffer);
  sink.Added();
  if (!sink.wants_flush()) return;
  sink.Ready();
  sink.Flush(Now(), UnixSeconds());
}

void LogLoop::AddSink(const std::shared_ptr<LogSink>& sink) {
  if (std::find(sinks_.begin(), sinks_.end(), sink) == sinks_.end()) sinks_.push_back(sink);
}

// A target of the configuration before this one goes once its lines are written.
void LogLoop::RemoveIdleSinks() {
  const auto idle = [this](const std::shared_ptr<LogSink>& sink) {
    const auto uses = [&sink](const auto& channel) { return channel->sink == sink; };
    return !sink->has_pending() && std::none_of(channels_.begin(), channels_.end(), uses);
  };
  sinks_.erase(std::remove_if(sinks_.begin(), sinks_.end(), idle), sinks_.end());
}

void LogLoop::FlushAll() {
  for (const auto& sink : sinks_) {
    if (sink->has_pending()) sink->Flush(Now(), UnixSeconds());
  }
}

void LogLoop::TellGaps(bool at_once) {
  const sys::MonotonicNanos now = Now();
  for (const auto& sink : sinks_) {
    if (!sink->MayTell(at_once ? std::numeric_limits<sys::MonotonicNanos>::max() : now)) continue;
    WriteGap(*sink);
    sink->Flush(now, UnixSeconds());
    sink->Told(now);
  }
}

// As a record like any other, so that whoever parses the log gets on with it.
void LogLoop::WriteGap(LogSink& sink) {
  for (const auto& channel : channels_) {
    if (channel->sink.get() != &sink) continue;
    TrafficRecord gap;
    gap.started_wall_nanos = options_.clock->WallNanos();
    gap.result = result::kRecordsDropped;
    gap.text = absl::StrCat("dropped ", sink.untold_records(), " records");
    std::string* buffer = sink.Buffer();  // there is room: MayTell() asks for an empty one
    channel->format.Format(gap, channel->times, *buffer);
    sink.Added();
    return;
  }
}

void LogLoop::Finish() {
  for (const auto& sink : sinks_) {
    sink->DropPending();
    if (sink->untold_records() > 0) sink->Told(Now());
  }
  batch_ = {};
  channels_.clear();
  sinks_.clear();
  sys::MutexLock lock(done_mutex_);
  done_ = true;
  done_changed_.NotifyAll();
}

// A target that would block may still come; one that failed has had its last try.
bool LogLoop::StillDraining() const {
  if (Now() >= deadline_.load()) return false;
  return std::any_of(sinks_.begin(), sinks_.end(),
                     [](const auto& sink) { return sink->has_pending() && sink->wait() == LogSink::Wait::kPoll; });
}

int64_t LogLoop::WaitMillis(bool busy) const {
  if (busy) return kCoalesceMillis;
  sys::MonotonicNanos until = std::numeric_limits<sys::MonotonicNanos>::max();
  if (stopping_.load()) until = deadline_.load();
  for (const auto& sink : sinks_) {
    if (sink->has_pending() && sink->wait() == LogSink::Wait::kTime) until = std::min(until, sink->retry_at());
    if (sink->MayTell(std::numeric_limits<sys::MonotonicNanos>::max())) until = std::min(until, sink->tell_at());
  }
  if (until == std::numeric_limits<sys::MonotonicNanos>::max()) return -1;
  return std::clamp<int64_t>((until - Now()) / sys::kNanosPerMilli + 1, 1, 60'000);
}

void LogLoop::Wait(bool busy) {
  polled_.assign(1, pollfd{wake_.get(), POLLIN, 0});
  polled_sinks_.clear();
  for (const auto& sink : sinks_) {
    if (sink->wait() != LogSink::Wait::kPoll) continue;
    polled_.push_back({sink->poll_fd(), POLLOUT, 0});
    polled_sinks_.push_back(sink.get());
  }
  if (!busy && !queue_.Sleep()) return;
  const int ready = ::poll(polled_.data(), polled_.size(), static_cast<int>(WaitMillis(busy)));
  queue_.Awake();
  if (ready <= 0) return;
  for (size_t i = 0; i < polled_sinks_.size(); ++i) {
    if (polled_[i + 1].revents != 0) polled_sinks_[i]->Ready();
  }
  uint64_t count = 0;
  if (polled_[0].revents != 0) {
    [[maybe_unused]] const ssize_t ignored = ::read(wake_.get(), &count, sizeof(count));
  }
}

}  // namespace sluice::accounting
