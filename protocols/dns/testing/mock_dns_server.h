#ifndef SLUICE_PROTOCOLS_DNS_TESTING_MOCK_DNS_SERVER_H_
#define SLUICE_PROTOCOLS_DNS_TESTING_MOCK_DNS_SERVER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "protocols/dns/testing/message_builder.h"
#include "sys/base/unique_fd.h"
#include "sys/net/socket_address.h"
#include "sys/thread/mutex.h"

namespace sluice::dns::testing {

// What is sent to the asking port before the proper reply: things that a resolver must not take for an answer. Each
// says 192.0.2.66 (or 2001:db8::66), so that a test sees whether it was believed.
enum class Noise { kWrongId, kWrongQuestion, kQuestionBit, kWrongSource, kEmpty, kGarbage };

// The script for one name and type.
struct Reply {
  uint16_t rcode = 0;
  std::vector<TestRecord> answers = {};
  std::vector<TestRecord> authorities = {};
  std::vector<Noise> noise = {};  // over UDP, first
  bool silent = false;            // never answered
  bool held = false;              // answered after Release()
  bool truncated = false;         // over UDP: TC with the answers of `truncated_answers`
  std::vector<TestRecord> truncated_answers = {};
  bool malformed = false;  // the message ends in the middle of its records
};

// A name server on 127.0.0.1, UDP and TCP on one free port, that says what the test wrote. Names without a script are
// NXDOMAIN. Names are compared without case.
//
// Thread-safe; runs a thread of its own.
class MockDnsServer {
 public:
  MockDnsServer();
  ~MockDnsServer();
  MockDnsServer(const MockDnsServer&) = delete;
  MockDnsServer& operator=(const MockDnsServer&) = delete;

  sys::SocketAddress address() const { return address_; }

  void Set(absl::string_view name, uint16_t type, Reply reply);
  // Shorthands: answers with a TTL of 60 s, and NODATA for the other family when `type` is A or AAAA alone is set.
  void SetA(absl::string_view name, absl::string_view address, uint32_t ttl = 60);
  void SetAaaa(absl::string_view name, absl::string_view address, uint32_t ttl = 60);
  // For every name that has no script.
  void SetDefault(Reply reply);

  struct Seen {
    std::string name;
    uint16_t type = 0;
    uint16_t id = 0;
    uint16_t source_port = 0;
    bool tcp = false;
  };
  std::vector<Seen> seen();
  // Queries for one name and type (0: all types) so far.
  int count(absl::string_view name, uint16_t type = 0);
  // Waits until there were `count` of them; false after ten seconds.
  bool WaitForQueries(absl::string_view name, uint16_t type, int count);
  // Sends the held replies of one name and type, and answers it at once from now on.
  void Release(absl::string_view name, uint16_t type);

 private:
  struct Client {  // where a query came from
    bool tcp = false;
    int fd = -1;
    sys::SocketAddress address;
  };
  struct Held {
    std::string query;
    Client client;
  };
  using Key = std::pair<std::string, uint16_t>;

  void Loop();
  void ReadDatagrams();
  // False when the connection is over.
  bool ReadStream(int fd, std::string& buffer);
  void Handle(const std::string& query, const Client& client);
  void Send(const Reply& reply, const std::string& query, const Client& client);
  void SendNoise(Noise noise, const std::string& query, const Client& client);

  sys::SocketAddress address_;
  sys::UniqueFd udp_;
  sys::UniqueFd other_udp_;  // the wrong source
  sys::UniqueFd listener_;
  sys::UniqueFd stop_;
  sys::Mutex mutex_;
  sys::CondVar changed_;
  std::map<Key, Reply> replies_ ABSL_GUARDED_BY(mutex_);
  std::map<Key, std::vector<Held>> held_ ABSL_GUARDED_BY(mutex_);
  Reply default_ ABSL_GUARDED_BY(mutex_);
  std::vector<Seen> seen_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace sluice::dns::testing

#endif  // SLUICE_PROTOCOLS_DNS_TESTING_MOCK_DNS_SERVER_H_
