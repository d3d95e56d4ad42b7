#include "bench/link/emulator.h"

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "bench/link/packet_flow.h"
#include "sys/base/errno_status.h"

namespace sluice::bench::link {
namespace {

constexpr size_t kMostUnderWay = 65'536;  // 100 MB
constexpr int kReadsPerVisit = 64;
constexpr int kWritesPerTurn = 256;

absl::Status SetMtu(ifreq request, const std::string& name) {
  const sys::UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  request.ifr_mtu = kMtu;
  if (socket.valid() && ::ioctl(socket.get(), SIOCSIFMTU, &request) == 0) return absl::OkStatus();
  return sys::ErrnoStatus(errno, absl::StrCat("setting the MTU of ", name));
}

}  // namespace

absl::StatusOr<sys::UniqueFd> MakeTun(const std::string& name) {
  sys::UniqueFd fd(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return sys::ErrnoStatus(errno, "/dev/net/tun");
  ifreq request{};
  std::memcpy(request.ifr_name, name.data(), std::min(name.size(), sizeof request.ifr_name - 1));
  request.ifr_flags = static_cast<short>(IFF_TUN | IFF_NO_PI | IFF_TUN_EXCL);
  if (::ioctl(fd.get(), TUNSETIFF, &request) != 0) {
    return sys::ErrnoStatus(errno, absl::StrCat("making the device ", name));
  }
  if (absl::Status status = SetMtu(request, name); !status.ok()) return status;
  return fd;
}

Emulator::Emulator(Reactor& reactor, const LinkOptions& link)
    : reactor_(reactor), ends_{End(*this, 0, link), End(*this, 1, link)}, under_way_(kMostUnderWay) {}

absl::StatusOr<std::unique_ptr<Emulator>> Emulator::Create(Reactor& reactor, const EmulatorOptions& options) {
  std::unique_ptr<Emulator> emulator(new Emulator(reactor, options.link));
  for (int i = 0; i < 2; ++i) {
    absl::StatusOr<sys::UniqueFd> tun = MakeTun(options.devices[i]);
    if (!tun.ok()) return tun.status();
    emulator->ends_[i].tun = *std::move(tun);
    const int64_t watch = reactor.Watch(emulator->ends_[i].tun.get(), emulator->ends_[i]);
    if (watch < 0) return sys::ErrnoStatus(static_cast<int>(-watch), "watching a device");
  }
  return emulator;
}

absl::Status Emulator::Run(sys::MonotonicNanos end) {
  while (!reactor_.interrupted() && trouble_.ok() && Now() < end) {
    reactor_.Turn(under_way_.empty() ? end : std::min(end, under_way_.NextArrival()));
    DeliverDue();
  }
  return trouble_;
}

void Emulator::End::OnReady(uint16_t /*ready*/) {
  for (int i = 0; i < kReadsPerVisit; ++i) {
    if (!emulator.TakeOne(*this)) return;
  }
  emulator.reactor_.Again(*this);
}

bool Emulator::TakeOne(End& end) {
  char packet[kMtu];
  const ssize_t size = ::read(end.tun.get(), packet, sizeof packet);
  if (size < 0) {
    // EIO: down. It comes up again, or it came down before it was ever up.
    if (errno != EAGAIN && errno != EINTR && errno != EIO) {
      trouble_ = sys::ErrnoStatus(errno, "reading from a device");
    }
    return false;
  }
  const absl::string_view bytes(packet, static_cast<size_t>(size));
  sys::MonotonicNanos arrival = 0;
  switch (end.link.Enter(FlowOf(bytes), bytes.size(), Now(), &arrival)) {
    case LinkDirection::Fate::kLost:
      ++end.counts.lost;
      break;
    case LinkDirection::Fate::kQueueFull:
      ++end.counts.queue_full;
      break;
    case LinkDirection::Fate::kArrives:
      if (!under_way_.Push(bytes, end.direction, arrival)) ++end.counts.queue_full;
      break;
  }
  return true;
}

void Emulator::DeliverDue() {
  const sys::MonotonicNanos now = Now();
  for (int i = 0; i < kWritesPerTurn && !under_way_.empty() && under_way_.NextArrival() <= now; ++i) {
    const PacketQueue::Packet packet = under_way_.Front();
    Counts& counts = ends_[packet.direction].counts;
    const ssize_t written = ::write(ends_[1 - packet.direction].tun.get(), packet.bytes.data(), packet.bytes.size());
    ++(written < 0 ? counts.refused : counts.arrived);
    under_way_.Pop();
  }
}

}  // namespace sluice::bench::link
