#include "relay/worker.h"

#include <algorithm>
#include <utility>

#include "relay/worker_pool.h"

namespace sluice::relay {

Worker::Worker(int index, std::unique_ptr<sys::Loop> loop, const sys::Clock* clock, WorkerPool* pool)
    : index_(index),
      clock_(clock),
      pool_(pool),
      loop_(std::move(loop)),
      now_(clock->Now()),
      engine_(loop_.get(), now_),
      acceptors_(this, loop_.get()),
      first_bytes_(
          this, loop_.get(),
          [](uint32_t slot, uint32_t generation) { return Engine::MakeToken(slot, generation, kKindFirstBytes); },
          now_),
      associations_(
          loop_.get(),
          [](uint32_t slot, uint32_t generation, int socket) {
            return Engine::MakeToken(slot, generation, static_cast<uint8_t>(kKindAssociation + socket));
          },
          now_),
      mapped_ports_(
          this, loop_.get(),
          [](uint32_t slot, uint32_t generation, bool port) {
            return Engine::MakeToken(slot, generation, port ? kKindMappedPort : kKindMappedClient);
          },
          now_) {
  engine_.set_worker(this);
}

Worker::~Worker() = default;

void Worker::Put(Message message) {
  if (mailbox_.Put(std::move(message))) loop_->Wake();
}

void Worker::Post(Handoff handoff) { Put(Message(std::in_place_type<Handoff>, std::move(handoff))); }

void Worker::Run(std::function<void(Worker&)> task) { Put(Message(std::in_place_type<Task>, std::move(task))); }

void Worker::ResumeAccepting() {
  if (!resume_.exchange(true)) loop_->Wake();
}

void Worker::Loop() {
  role_.Adopt();
  role_.AssertHeld();
  while (!stopping_) Turn();
}

int64_t Worker::WaitNanos() const {
  int64_t wait = engine_.NanosToNext(now_);
  for (const int64_t other : {acceptors_.NanosToNext(now_), first_bytes_.NanosToNext(now_),
                              associations_.NanosToNext(now_), mapped_ports_.NanosToNext(now_)}) {
    if (wait < 0 || (other >= 0 && other < wait)) wait = other;
  }
  if (!each_second_.empty()) {
    const int64_t second = std::max<int64_t>(0, next_second_ - now_);
    if (wait < 0 || second < wait) wait = second;
  }
  return wait;
}

void Worker::EachSecond(std::function<bool(Worker&)> task) {
  if (each_second_.empty()) next_second_ = now_ + sys::kNanosPerSecond;
  each_second_.push_back(std::move(task));
}

void Worker::RunEachSecond() {
  if (each_second_.empty() || now_ < next_second_) return;
  next_second_ = now_ + sys::kNanosPerSecond;
  // A task may add another one.
  std::vector<std::function<bool(Worker&)>> tasks = std::move(each_second_);
  each_second_.clear();
  for (std::function<bool(Worker&)>& task : tasks) {
    if (task(*this)) each_second_.push_back(std::move(task));
  }
}

void Worker::Turn() {
  const absl::Span<const sys::Loop::Event> events = loop_->Turn(WaitNanos());
  now_ = clock_->Now();
  stats_.turns.Increment();
  engine_.AdvanceTo(now_);
  first_bytes_.AdvanceTo(now_);
  associations_.AdvanceTo(now_);
  mapped_ports_.AdvanceTo(now_);
  for (const sys::Loop::Event& event : events) {
    const uint32_t slot = Engine::SlotOf(event.token);
    const uint32_t generation = Engine::GenerationOf(event.token);
    const uint8_t kind = Engine::KindOf(event.token);
    switch (kind) {
      case kKindAcceptor:
        acceptors_.OnEvent(slot, generation, event.ready);
        break;
      case kKindFirstBytes:
        first_bytes_.OnEvent(slot, generation, event.ready);
        break;
      case kKindAssociation:
      case kKindAssociation + 1:
      case kKindAssociation + 2:
      case kKindAssociation + 3:
      case kKindAssociation + Associations::kSharedSocket:
        associations_.OnEvent(slot, generation, kind - kKindAssociation, event.ready);
        break;
      case kKindMappedPort:
        mapped_ports_.OnPortEvent(slot, generation, event.ready);
        break;
      case kKindMappedClient:
        mapped_ports_.OnClientEvent(slot, generation, event.ready);
        break;
      default:
        engine_.OnEvent(event.token, event.ready);
    }
  }
  engine_.SendDeferred();  // before the turn goes on to other work
  HandleMail();
  RunEachSecond();
  if (resume_.load(std::memory_order_relaxed) && resume_.exchange(false)) acceptors_.Resume();
  engine_.RunReady();
  associations_.RunReady();
  mapped_ports_.RunReady();
  engine_.SendDeferred();
  acceptors_.Run(now_);
  engine_.SendDeferred();
  running_.store(engine_.running() + associations_.running(), std::memory_order_relaxed);
  const int64_t took = clock_->Now() - now_;
  now_ += took;
  if (took > kSlowTurnNanos) stats_.slow_turns.Increment();
  stats_.slowest_turn_nanos.RaiseTo(took);
}

void Worker::HandleMail() {
  mailbox_.TakeAll(mail_);
  for (Message& message : mail_) {
    if (Handoff* handoff = std::get_if<Handoff>(&message)) {
      stats_.posted.Increment();
      engine_.Adopt(std::move(*handoff));
    } else if (Admitted* admitted = std::get_if<Admitted>(&message)) {
      Admit(std::move(admitted->handler), std::move(admitted->client), std::move(admitted->address),
            std::move(admitted->admission));
    } else {
      std::get<Task>(message)(*this);
    }
  }
  mail_.clear();
}

void Worker::Adopt(Handoff handoff) {
  Worker* other = pool_ != nullptr ? pool_->LessLoaded(*this) : nullptr;
  if (other != nullptr) return other->Post(std::move(handoff));
  engine_.Adopt(std::move(handoff));
  running_.store(engine_.running() + associations_.running(), std::memory_order_relaxed);
}

void Worker::Admit(std::shared_ptr<AdmissionHandler> handler, sys::UniqueFd client, sys::SocketAddress address,
                   Admission admission) {
  const int64_t nanos = handler->first_byte_nanos();
  if (nanos == 0) return handler->OnAdmitted(*this, std::move(client), std::move(address), std::move(admission));
  first_bytes_.Add(std::move(handler), std::move(client), std::move(address), std::move(admission), nanos);
}

void Worker::EndIdle() {
  engine_.EndIdle();
  first_bytes_.EndIdle();
}

void Worker::Review(std::function<void(const ReviewTally&)> done) {
  auto reviewing = std::make_shared<Reviewing>();
  reviewing->done = std::move(done);
  GoOnReviewing(reviewing);
}

void Worker::GoOnReviewing(const std::shared_ptr<Reviewing>& reviewing) {
  Reviewing& r = *reviewing;
  switch (r.list) {
    case 0:
      r.slot = engine_.Review(r.slot, kReviewsPerTurn, r.tally);
      break;
    case 1:
      r.slot = associations_.Review(r.slot, kReviewsPerTurn, r.tally);
      break;
    default:
      r.slot = mapped_ports_.Review(r.slot, kReviewsPerTurn, r.tally);
      break;
  }
  if (r.slot == 0) ++r.list;
  if (r.list == 3) return r.done(r.tally);
  Run([reviewing](Worker& here) { here.GoOnReviewing(reviewing); });
}

Worker& Worker::first() { return pool_ != nullptr ? pool_->at(0) : *this; }

void Worker::EndAll(EndCode code) {
  engine_.EndAll(code);
  first_bytes_.EndAll();
  associations_.EndAll(code);
  mapped_ports_.EndAll(code);
}

void Worker::Deal(std::shared_ptr<AdmissionHandler> handler, sys::UniqueFd client, sys::SocketAddress address,
                  Admission admission) {
  Worker* target = pool_ != nullptr ? &pool_->NextInTurn() : this;
  if (target == this) return Admit(std::move(handler), std::move(client), std::move(address), std::move(admission));
  target->Put(Message(std::in_place_type<Admitted>,
                      Admitted{std::move(handler), std::move(client), std::move(address), std::move(admission)}));
}

}  // namespace sluice::relay
