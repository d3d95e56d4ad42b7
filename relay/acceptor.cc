#include "relay/acceptor.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "relay/transform.h"
#include "relay/worker.h"
#include "sys/net/listen_socket.h"

namespace sluice::relay {

void AdmissionHandler::OnSecured(Worker&, sys::UniqueFd client, std::unique_ptr<Transform>, sys::SocketAddress,
                                 Admission admission) {
  client.reset();
  admission.Return();
}
int64_t AcceptorSet::Add(Id id, sys::UniqueFd listener, std::shared_ptr<AdmissionHandler> handler, bool deal) {
  auto place =
      std::find_if(acceptors_.begin(), acceptors_.end(), [](const Acceptor& a) { return a.phase == Phase::kUnused; });
  if (place == acceptors_.end()) place = acceptors_.insert(acceptors_.end(), Acceptor());
  Acceptor& acceptor = *place;
  const uint32_t index = static_cast<uint32_t>(place - acceptors_.begin());
  const int64_t watch =
      loop_->Watch(listener.get(), Worker::AcceptorToken(index, acceptor.generation), sys::Loop::Interest::kRead);
  if (watch < 0) return watch;
  acceptor.id = id;
  acceptor.phase = Phase::kOpen;
  acceptor.ready = false;
  acceptor.full = false;
  acceptor.deal = deal;
  acceptor.retry_at = 0;
  acceptor.fd = std::move(listener);
  acceptor.watch = static_cast<sys::Loop::WatchId>(watch);
  acceptor.handler = std::move(handler);
  ++open_;
  return 0;
}

AcceptorSet::Acceptor* AcceptorSet::Find(Id id) {
  for (Acceptor& acceptor : acceptors_) {
    if (acceptor.id == id && acceptor.phase != Phase::kUnused) return &acceptor;
  }
  return nullptr;
}

void AcceptorSet::SetHandler(Id id, std::shared_ptr<AdmissionHandler> handler) {
  Acceptor* acceptor = Find(id);
  if (acceptor == nullptr) return;
  acceptor->handler = std::move(handler);
  acceptor->full = false;  // the new budget may have room
  acceptor->ready = true;
}

void AcceptorSet::Close(Id id, std::function<void()> closed) {
  Acceptor* acceptor = Find(id);
  if (acceptor == nullptr || acceptor->phase != Phase::kOpen) {
    if (closed) closed();
    return;
  }
  acceptor->phase = Phase::kClosing;
  acceptor->closed = std::move(closed);
  acceptor->ready = true;
  acceptor->full = false;
}

void AcceptorSet::OnEvent(uint32_t index, uint32_t generation, uint16_t ready) {
  if (index >= acceptors_.size()) return;
  Acceptor& acceptor = acceptors_[index];
  if (acceptor.generation != generation || acceptor.phase == Phase::kUnused) return;
  if ((ready & sys::Loop::kReleased) == 0) {
    acceptor.ready = true;
    return;
  }
  acceptor.fd.reset();
  acceptor.handler.reset();
  acceptor.phase = Phase::kUnused;
  acceptor.generation = (acceptor.generation + 1) & Worker::kGenerationMask;
  --open_;
  const std::function<void()> closed = std::exchange(acceptor.closed, nullptr);
  if (closed) closed();
}

void AcceptorSet::Resume() {
  for (Acceptor& acceptor : acceptors_) acceptor.full = false;
}

void AcceptorSet::Run(sys::MonotonicNanos now) {
  for (size_t i = 0; i < acceptors_.size(); ++i) {
    Acceptor& acceptor = acceptors_[i];
    if (acceptor.phase == Phase::kUnused || acceptor.phase == Phase::kReleasing) continue;
    if (acceptor.retry_at != 0 && acceptor.retry_at <= now) {
      acceptor.retry_at = 0;
      acceptor.ready = true;
    }
    if (acceptor.ready && !acceptor.full && acceptor.retry_at == 0) AcceptSome(acceptor, now);
  }
}

void AcceptorSet::AcceptSome(Acceptor& acceptor, sys::MonotonicNanos now) {
  for (int accepts = kAcceptsPerTurn; accepts > 0; --accepts) {
    if (!AcceptOne(acceptor, now)) return;
  }
}

// False: not now.
bool AcceptorSet::AcceptOne(Acceptor& acceptor, sys::MonotonicNanos now) {
  ConnectionBudget& budget = acceptor.handler->budget();
  if (acceptor.phase != Phase::kOpen) {
    budget.Take();
  } else if (!budget.TryTake()) {
    acceptor.full = true;
    stats_.full_pauses.Increment();
    return false;
  }
  Admission admission(&budget);
  sys::ErrnoOr<sys::Accepted> accepted = sys::AcceptFrom(acceptor.fd.get());
  if (!accepted.ok()) {
    switch (accepted.error().code) {
      case EAGAIN:
        QueueEmpty(acceptor, now);
        return false;
      case EMFILE:
      case ENFILE:
      case ENOBUFS:
      case ENOMEM:
        PauseForDescriptors(acceptor, now);
        return false;
      default:  // ECONNABORTED and what the network reports of one connection (accept(2))
        stats_.accept_errors.Increment();
        return true;
    }
  }
  stats_.accepted.Increment();
  const bool short_of_descriptors = DescriptorsRunShort(accepted->fd.get(), now);
  if (short_of_descriptors) PauseForDescriptors(acceptor, now);
  if (acceptor.deal) {
    worker_->Deal(acceptor.handler, std::move(accepted->fd), std::move(accepted->peer), std::move(admission));
  } else {
    worker_->Admit(acceptor.handler, std::move(accepted->fd), std::move(accepted->peer), std::move(admission));
  }
  return !short_of_descriptors;
}

void AcceptorSet::QueueEmpty(Acceptor& acceptor, sys::MonotonicNanos now) {
  acceptor.ready = false;
  if (acceptor.phase == Phase::kClosing) {
    acceptor.phase = Phase::kClosingAgain;
    acceptor.retry_at = now + kCloseMillis * sys::kNanosPerMilli;
  } else if (acceptor.phase == Phase::kClosingAgain) {
    acceptor.phase = Phase::kReleasing;
    loop_->Release(acceptor.watch);
  }
}

// Descriptor numbers are given lowest first, so the number of the newest one tells how many are in use, well enough to
// stop in time. The limit is asked for again once a second: an operator can change it with prlimit(1).
bool AcceptorSet::DescriptorsRunShort(int newest_fd, sys::MonotonicNanos now) {
  if (most_descriptors_ == 0 || now - limit_asked_at_ >= sys::kNanosPerSecond) {
    rlimit limit;
    const bool unlimited = getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY;
    most_descriptors_ = unlimited ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(limit.rlim_cur);
    limit_asked_at_ = now;
  }
  return newest_fd >= most_descriptors_ - std::min<int64_t>(kReservedDescriptors, most_descriptors_ / 4);
}

void AcceptorSet::PauseForDescriptors(Acceptor& acceptor, sys::MonotonicNanos now) {
  stats_.descriptor_pauses.Increment();
  acceptor.retry_at = now + kRetryMillis * sys::kNanosPerMilli;
}

int64_t AcceptorSet::NanosToNext(sys::MonotonicNanos now) const {
  int64_t next = -1;
  for (const Acceptor& acceptor : acceptors_) {
    if (acceptor.phase == Phase::kUnused || acceptor.phase == Phase::kReleasing) continue;
    if (acceptor.retry_at != 0) {
      const int64_t nanos = std::max<int64_t>(0, acceptor.retry_at - now);
      next = next < 0 ? nanos : std::min(next, nanos);
    } else if (acceptor.ready && !acceptor.full) {
      return 0;
    }
  }
  return next;
}

}  // namespace sluice::relay
