#ifndef SLUICE_RELAY_REST_BUFFER_H_
#define SLUICE_RELAY_REST_BUFFER_H_

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace sluice::relay {

// Bytes that were taken from a source and not yet accepted by the sink. Made only when a sink takes a part, freed when
// it has taken all: an idle flow holds a null pointer. The bytes of all rests of a worker are summed in a counter that
// the worker reads to slow down sources (64 MB, design of the data path).
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
    std::memcpy(data_ + 1, bytes, size);
    *total += size;
    return true;
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
    std::free(std::exchange(data_, nullptr));
  }

 private:
  struct Block {
    uint32_t size;
    uint32_t offset;
    int64_t* total;
  };
  Block* data_ = nullptr;
};

}  // namespace sluice::relay

#endif  // SLUICE_RELAY_REST_BUFFER_H_
