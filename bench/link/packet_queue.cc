#include "bench/link/packet_queue.h"

#include <algorithm>
#include <cstring>

namespace sluice::bench::link {

bool PacketQueue::Push(absl::string_view bytes, int direction, sys::MonotonicNanos arrival) {
  if (heap_.size() >= most_) return false;
  if (free_.empty()) {
    free_.push_back(static_cast<uint32_t>(places_.size()));
    places_.emplace_back();
  }
  const uint32_t number = free_.back();
  free_.pop_back();
  Place& place = places_[number];
  std::memcpy(place.bytes.data(), bytes.data(), bytes.size());
  place.size = static_cast<uint16_t>(bytes.size());
  place.direction = static_cast<uint8_t>(direction);
  heap_.push_back({arrival, pushed_++, number});
  std::push_heap(heap_.begin(), heap_.end());
  return true;
}

PacketQueue::Packet PacketQueue::Front() const {
  const Place& place = places_[heap_.front().place];
  return {absl::string_view(place.bytes.data(), place.size), place.direction};
}

void PacketQueue::Pop() {
  free_.push_back(heap_.front().place);
  std::pop_heap(heap_.begin(), heap_.end());
  heap_.pop_back();
}

}  // namespace sluice::bench::link
