#include "protocols/dns/testing/mock_dns_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "protocols/dns/wire.h"

namespace sluice::dns::testing {
namespace {

constexpr uint16_t kNxDomain = 3;

int OpenOn(sys::SocketAddress& address, int type) {
  sockaddr_storage storage;
  const socklen_t length = address.ToSockaddr(storage);
  const int fd = ::socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0 || ::bind(fd, reinterpret_cast<sockaddr*>(&storage), length) != 0) {
    ::close(fd);
    return -1;
  }
  address = sys::SocketAddress::OfSocket(fd);
  return fd;
}

sys::SocketAddress LoopbackAnyPort() { return sys::SocketAddress::Loopback(sys::AddressFamily::kIpv4, 0); }

TestMessage ParseQuery(const std::string& query) {
  WireReader reader(absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(query.data()), query.size()));
  TestMessage message;
  message.id = reader.U16();
  reader.Bytes(10);
  message.question = ToHostName(reader.Name());
  message.type = reader.U16();
  return message;
}

std::vector<TestRecord> FalseAnswer(const TestMessage& query) {
  if (query.type == kTypeAaaa) return {Aaaa(query.question, "2001:db8::66")};
  return {A(query.question, "192.0.2.66")};
}

}  // namespace

MockDnsServer::MockDnsServer() {
  default_.rcode = kNxDomain;
  // The port that UDP gets may be in use for TCP.
  for (int tries = 0; tries < 20 && !listener_.valid(); ++tries) {
    address_ = LoopbackAnyPort();
    udp_ = sys::UniqueFd(OpenOn(address_, SOCK_DGRAM));
    listener_ = sys::UniqueFd(OpenOn(address_, SOCK_STREAM));
  }
  sys::SocketAddress other = LoopbackAnyPort();
  other_udp_ = sys::UniqueFd(OpenOn(other, SOCK_DGRAM));
  stop_ = sys::UniqueFd(::eventfd(0, EFD_CLOEXEC));
  if (!udp_.valid() || !other_udp_.valid() || ::listen(listener_.get(), 64) != 0) std::abort();
  thread_ = std::thread([this] { Loop(); });
}

MockDnsServer::~MockDnsServer() {
  const uint64_t one = 1;
  if (::write(stop_.get(), &one, sizeof one) != sizeof one) std::abort();
  thread_.join();
}

void MockDnsServer::Set(absl::string_view name, uint16_t type, Reply reply) {
  sys::MutexLock lock(mutex_);
  replies_[{absl::AsciiStrToLower(name), type}] = std::move(reply);
}

void MockDnsServer::SetA(absl::string_view name, absl::string_view address, uint32_t ttl) {
  Set(name, kTypeA, {.answers = {A(name, address, ttl)}});
  sys::MutexLock lock(mutex_);
  replies_.try_emplace({absl::AsciiStrToLower(name), kTypeAaaa});
}

void MockDnsServer::SetAaaa(absl::string_view name, absl::string_view address, uint32_t ttl) {
  Set(name, kTypeAaaa, {.answers = {Aaaa(name, address, ttl)}});
  sys::MutexLock lock(mutex_);
  replies_.try_emplace({absl::AsciiStrToLower(name), kTypeA});
}

void MockDnsServer::SetDefault(Reply reply) {
  sys::MutexLock lock(mutex_);
  default_ = std::move(reply);
}

std::vector<MockDnsServer::Seen> MockDnsServer::seen() {
  sys::MutexLock lock(mutex_);
  return seen_;
}

int MockDnsServer::count(absl::string_view name, uint16_t type) {
  const std::vector<Seen> all = seen();
  return static_cast<int>(std::count_if(
      all.begin(), all.end(), [&](const Seen& one) { return one.name == name && (type == 0 || one.type == type); }));
}

bool MockDnsServer::WaitForQueries(absl::string_view name, uint16_t type, int wanted) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (count(name, type) < wanted) {
    sys::MutexLock lock(mutex_);
    if (std::chrono::steady_clock::now() > deadline) return false;
    changed_.WaitFor(mutex_, std::chrono::milliseconds(10));
  }
  return true;
}

void MockDnsServer::Release(absl::string_view name, uint16_t type) {
  sys::MutexLock lock(mutex_);
  const Key key{absl::AsciiStrToLower(name), type};
  Reply& reply = replies_[key];
  reply.held = false;
  for (const Held& held : held_[key]) Send(reply, held.query, held.client);
  held_.erase(key);
}

void MockDnsServer::Loop() {
  std::map<int, std::pair<sys::UniqueFd, std::string>> streams;
  for (;;) {
    std::vector<pollfd> fds = {{stop_.get(), POLLIN, 0}, {udp_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    for (const auto& [fd, stream] : streams) fds.push_back({fd, POLLIN, 0});
    ::poll(fds.data(), fds.size(), -1);
    if (fds[0].revents != 0) return;
    if (fds[1].revents != 0) ReadDatagrams();
    if (fds[2].revents != 0) {
      sys::UniqueFd accepted(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      const int fd = accepted.get();
      if (accepted.valid()) streams.emplace(fd, std::make_pair(std::move(accepted), std::string()));
    }
    for (size_t i = 3; i < fds.size(); ++i) {
      if (fds[i].revents != 0 && !ReadStream(fds[i].fd, streams.at(fds[i].fd).second)) streams.erase(fds[i].fd);
    }
  }
}

void MockDnsServer::ReadDatagrams() {
  for (;;) {
    char buffer[4096];
    sockaddr_storage from;
    socklen_t length = sizeof from;
    const ssize_t count = ::recvfrom(udp_.get(), buffer, sizeof buffer, 0, reinterpret_cast<sockaddr*>(&from), &length);
    if (count < 0) return;
    const auto address = sys::SocketAddress::FromSockaddr(reinterpret_cast<sockaddr*>(&from), length);
    Handle(std::string(buffer, static_cast<size_t>(count)), {false, udp_.get(), address});
  }
}

bool MockDnsServer::ReadStream(int fd, std::string& buffer) {
  char bytes[4096];
  const ssize_t count = ::recv(fd, bytes, sizeof bytes, 0);
  if (count <= 0) return false;
  buffer.append(bytes, static_cast<size_t>(count));
  while (buffer.size() >= 2) {
    const size_t length = static_cast<size_t>(static_cast<uint8_t>(buffer[0])) << 8 | static_cast<uint8_t>(buffer[1]);
    if (buffer.size() < 2 + length) break;
    Handle(buffer.substr(2, length), {true, fd, sys::SocketAddress::OfPeer(fd)});
    buffer.erase(0, 2 + length);
  }
  return true;
}

void MockDnsServer::Handle(const std::string& query, const Client& client) {
  const TestMessage parsed = ParseQuery(query);
  sys::MutexLock lock(mutex_);
  seen_.push_back({parsed.question, parsed.type, parsed.id, client.address.port(), client.tcp});
  const auto found = replies_.find({parsed.question, parsed.type});
  const Reply& reply = found == replies_.end() ? default_ : found->second;
  if (reply.held) {
    held_[{parsed.question, parsed.type}].push_back({query, client});
  } else if (!reply.silent) {
    Send(reply, query, client);
  }
  changed_.NotifyAll();
}

void MockDnsServer::Send(const Reply& reply, const std::string& query, const Client& client) {
  TestMessage message = ParseQuery(query);
  message.flags |= reply.rcode;
  message.answers = reply.answers;
  message.authorities = reply.authorities;
  if (reply.truncated && !client.tcp) {
    message.flags |= kTruncatedFlag;
    message.answers = reply.truncated_answers;
  }
  std::string bytes = BuildMessage(message);
  if (reply.malformed) bytes.resize(bytes.size() - 3);
  if (client.tcp) {
    bytes.insert(0, {static_cast<char>(bytes.size() >> 8), static_cast<char>(bytes.size())});
    ::send(client.fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return;
  }
  for (const Noise noise : reply.noise) SendNoise(noise, query, client);
  sockaddr_storage to;
  const socklen_t length = client.address.ToSockaddr(to);
  ::sendto(client.fd, bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&to), length);
}

void MockDnsServer::SendNoise(Noise noise, const std::string& query, const Client& client) {
  TestMessage message = ParseQuery(query);
  if (noise == Noise::kWrongQuestion) message.question = "other." + message.question;
  message.answers = FalseAnswer(message);
  if (noise == Noise::kWrongId) message.id ^= 0x5555;
  if (noise == Noise::kQuestionBit) message.flags &= static_cast<uint16_t>(~kResponseFlag);
  std::string bytes = BuildMessage(message);
  if (noise == Noise::kEmpty) bytes.clear();
  if (noise == Noise::kGarbage) bytes = query.substr(0, 2) + std::string(7, '\xff');
  sockaddr_storage to;
  const socklen_t length = client.address.ToSockaddr(to);
  const int fd = noise == Noise::kWrongSource ? other_udp_.get() : client.fd;
  ::sendto(fd, bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&to), length);
}

}  // namespace sluice::dns::testing
