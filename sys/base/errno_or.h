#ifndef SLUICE_SYS_BASE_ERRNO_OR_H_
#define SLUICE_SYS_BASE_ERRNO_OR_H_

#include <cassert>
#include <optional>
#include <utility>

namespace sluice::sys {

// The errno of a failed call, as a type, so that it cannot be taken for a value.
struct Errno {
  int code;  // positive: ECONNREFUSED, ...
};

// A value, or the errno of the call that did not give one. For wrappers whose caller decides by the number; where a
// human reads the error, absl::Status is used (errno_status.h turns one into the other).
//
//   ErrnoOr<UniqueFd> fd = OpenListener(...);
//   if (!fd.ok()) return fd.error().code == EADDRINUSE ? ... : ...;
//   Use(*fd);
//
// Thread-compatible.
template <typename T>
class [[nodiscard]] ErrnoOr {
 public:
  ErrnoOr(Errno error) : error_(error) { assert(error.code > 0); }  // NOLINT: implicit, as `return Errno{errno};`
  ErrnoOr(T value) : value_(std::move(value)) {}                    // NOLINT: implicit, as `return value;`

  bool ok() const { return value_.has_value(); }
  // REQUIRES: !ok().
  Errno error() const {
    assert(!ok());
    return error_;
  }

  // REQUIRES: ok().
  T& operator*() & {
    assert(ok());
    return *value_;
  }
  const T& operator*() const& {
    assert(ok());
    return *value_;
  }
  T&& operator*() && {
    assert(ok());
    return *std::move(value_);
  }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }

 private:
  std::optional<T> value_;
  Errno error_{0};
};

}  // namespace sluice::sys

#endif  // SLUICE_SYS_BASE_ERRNO_OR_H_
