#include "protocols/accounting/log_queue.h"

namespace sluice::accounting {

void LogQueue::Push(LogItem item) {
  if (pieces_.empty() || pieces_.back().size() == kPieceItems) {
    pieces_.emplace_back();
    pieces_.back().reserve(kPieceItems);
  }
  pieces_.back().push_back(std::move(item));
}

LogQueue::PutResult LogQueue::Put(LogChannelState* channel, TrafficRecord record) {
  const size_t bytes = record.HeldBytes();
  sys::MutexLock lock(mutex_);
  if (closed_) return PutResult::kRefused;
  if (records_ >= kMaxRecords || bytes_ + bytes > kMaxBytes) {
    if (channel->refused++ == 0) refusing_.push_back(channel);
    return PutResult::kRefused;
  }
  ++records_;
  bytes_ += bytes;
  Push({LogItem::Kind::kRecord, channel, nullptr, std::move(record)});
  // Half full: the log thread is behind, or is collecting a batch and should not go on doing so.
  if (!sleeping_ && records_ != kMaxRecords / 2) return PutResult::kQueued;
  sleeping_ = false;
  return PutResult::kWake;
}

bool LogQueue::PutControl(LogItem item) {
  sys::MutexLock lock(mutex_);
  Push(std::move(item));
  return std::exchange(sleeping_, false);
}

void LogQueue::Take(Batch& batch) {
  batch.pieces.clear();
  batch.refused.clear();
  sys::MutexLock lock(mutex_);
  batch.pieces.swap(pieces_);
  for (LogChannelState* channel : refusing_) {
    batch.refused.emplace_back(channel, std::exchange(channel->refused, 0));
  }
  refusing_.clear();
  records_ = 0;
  bytes_ = 0;
}

bool LogQueue::Sleep() {
  sys::MutexLock lock(mutex_);
  sleeping_ = pieces_.empty();
  return sleeping_;
}

void LogQueue::Awake() {
  sys::MutexLock lock(mutex_);
  sleeping_ = false;
}

void LogQueue::Close() {
  sys::MutexLock lock(mutex_);
  closed_ = true;
}

}  // namespace sluice::accounting
