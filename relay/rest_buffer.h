#ifndef SLUICE_RELAY_REST_BUFFER_H_
#define SLUICE_RELAY_REST_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace sluice::relay {

// Bytes that were taken from a source and not yet accepted by the sink. Made only when a sink takes a part, freed when
// it has taken all: an idle flow holds a null pointer. The bytes of all rests of a worker are summed in a counter that
// the worker reads to slow down sources (64 MB, design of the data path).
//
// A message that is only to wait for the end of the turn is lent: it lies in memory of the worker, which has left
// kHeaderBytes in front of it, and gets memory of its own (Own) if the sink does not take it then.
//
// Worker only.
class RestBuffer {
 public:
  RestBuffer() = default;
  RestBuffer(RestBuffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  RestBuffer& operator=(RestBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~RestBuffer() { Clear(); }

  // Keeps a copy. False when there is no memory. REQUIRES: empty(), size > 0; `total` outlives this object.
  [[nodiscard]] bool Keep(const char* bytes, uint32_t size, int64_t* total) {
    data_ = static_cast<Block*>(std::malloc(sizeof(Block) + size));
    if (data_ == nullptr) return false;
    data_->size = size;
    data_->offset = 0;
    data_->total = total;
    data_->lent = false;
    std::memcpy(data_ + 1, bytes, size);
    *total += size;
    return true;
  }

  // Holds what lies behind `header`, kHeaderBytes of memory aligned to kAlignment, until it is cleared, consumed or
  // owned. REQUIRES: empty(), size > 0; the memory and `total` stay that long.
  void Lend(char* header, uint32_t size, int64_t* total) {
    data_ = new (header) Block{size, 0, total, true};
    *total += size;
  }
  bool lent() const { return data_ != nullptr && data_->lent; }
  // What is lent gets memory of its own. False, and empty, when there is none. REQUIRES: lent().
  [[nodiscard]] bool Own(int64_t* total) {
    const Block* const block = std::exchange(data_, nullptr);
    *block->total -= block->size;
    return Keep(reinterpret_cast<const char*>(block + 1) + block->offset, block->size - block->offset, total);
  }

  bool empty() const { return data_ == nullptr; }
  // REQUIRES: !empty().
  const char* bytes() const { return reinterpret_cast<const char*>(data_ + 1) + data_->offset; }
  uint32_t size() const { return data_ == nullptr ? 0 : data_->size - data_->offset; }

  // The sink took `bytes`; the block is freed with the last one.
  void Consume(uint32_t bytes) {
    data_->offset += bytes;
    if (data_->offset == data_->size) Clear();
  }

  void Clear() {
    if (data_ == nullptr) return;
    *data_->total -= data_->size;
    Block* const block = std::exchange(data_, nullptr);
    if (!block->lent) std::free(block);
  }

 private:
  struct Block {
    uint32_t size;
    uint32_t offset;
    int64_t* total;
    bool lent;
  };
  Block* data_ = nullptr;

 public:
  static constexpr size_t kHeaderBytes = sizeof(Block);
  static constexpr size_t kAlignment = alignof(Block);
};

}  // namespace sluice::relay

#endif  // SLUICE_RELAY_REST_BUFFER_H_
