// What the resolver does without a name server, at its limits and at its end, and with its files.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "protocols/dns/resolver.h"
#include "protocols/dns/testing/message_builder.h"
#include "protocols/dns/testing/resolver_fixture.h"

namespace sluice::dns {
namespace {

using testing::A;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::InMillis;
using testing::kTypeA;
using testing::MockDnsServer;
using testing::Results;
using ::testing::SizeIs;
using testing::Texts;

sys::SocketAddress Ip(absl::string_view text) { return *sys::SocketAddress::ParseIp(text, 0); }

class ResolverLimitsTest : public testing::ResolverFixture {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/resolverXXXXXX";
    ASSERT_NE(::mkdtemp(folder), nullptr);
    folder_ = folder;
  }
  void TearDown() override {
    for (const char* name : {"hosts", "resolv.conf", "new"}) ::unlink((folder_ + "/" + name).c_str());
    ::rmdir(folder_.c_str());
  }

  // As editors and kubelet do it: a new file under the old name.
  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(folder_ + "/new") << text;
    EXPECT_EQ(::rename((folder_ + "/new").c_str(), path.c_str()), 0);
    return path;
  }

  // Asks until the first address is `expected`; false after ten seconds.
  bool Becomes(const std::string& name, const std::string& expected) {
    const sys::MonotonicNanos deadline = InMillis(10'000);
    while (testing::Now() < deadline) {
      const Result result = AskIpv4(name);
      if (result.ok() && result.addresses[0].IpText() == expected) return true;
      std::this_thread::yield();
    }
    return false;
  }

  std::string folder_;
};

TEST_F(ResolverLimitsTest, OptionsAreChecked) {
  const auto error = [&](auto change) {
    ResolverOptions options = Options();
    change(options);
    return std::string(Resolver::Create(std::move(options)).status().message());
  };
  EXPECT_THAT(error([](auto& o) { o.name_servers.resize(6, o.name_servers[0]); }), HasSubstr("at most 5"));
  EXPECT_THAT(error([](auto& o) { o.name_servers[0].address = sys::SocketAddress(); }), HasSubstr("not an IP address"));
  EXPECT_THAT(error([](auto& o) { o.name_servers[0].address.set_port(0); }), HasSubstr("port"));
  EXPECT_THAT(error([](auto& o) { o.timeout_nanos = 0; }), HasSubstr("timeout"));
  EXPECT_THAT(error([](auto& o) { o.max_pending = 0; }), HasSubstr("pending"));
  EXPECT_THAT(error([](auto& o) { o.static_records = {{"a b", Ip("127.0.0.1")}}; }), HasSubstr("a b"));
  EXPECT_THAT(error([](auto& o) { o.static_records = {{"::1", Ip("127.0.0.1")}}; }), HasSubstr("redefine"));
}

TEST_F(ResolverLimitsTest, WhatIsKnownNeedsNoServer) {
  ResolverOptions options = Options();
  options.static_records = {{"static.test", Ip("192.0.2.1")}, {"never.test", Ip("0.0.0.0")}};
  options.hosts_path = Write("hosts", "192.0.2.2 hosts.test\n");
  Start(std::move(options));
  const auto known = [&](const char* name) { return Texts(resolver_->TryCache({name}).value()); };
  EXPECT_THAT(known("192.0.2.9"), ElementsAre("192.0.2.9"));
  EXPECT_THAT(known("[2001:db8::1]"), ElementsAre("2001:db8::1"));
  EXPECT_THAT(known("static.test"), ElementsAre("192.0.2.1"));
  EXPECT_THAT(known("HOSTS.test."), ElementsAre("192.0.2.2"));
  EXPECT_THAT(known("localhost"), ElementsAre("127.0.0.1", "::1"));
  EXPECT_EQ(resolver_->TryCache({"never.test"})->outcome, Outcome::kNotFound);
  EXPECT_EQ(resolver_->TryCache({"x.invalid"})->outcome, Outcome::kNotFound);
  EXPECT_EQ(resolver_->TryCache({"127.1"})->outcome, Outcome::kInvalidName);
  EXPECT_EQ(resolver_->TryCache({"other.test"}), std::nullopt);
  // The same by callback, on the resolver's thread.
  Results results;
  for (const char* name : {"192.0.2.9", "static.test", "127.1", ""}) resolver_->Resolve({name}, results.Callback());
  const std::vector<Result> all = results.WaitFor(4);
  ASSERT_THAT(all, SizeIs(4));
  EXPECT_THAT(Texts(all[1]), ElementsAre("192.0.2.1"));
  EXPECT_EQ(all[2].outcome, Outcome::kInvalidName);
  EXPECT_EQ(all[3].outcome, Outcome::kInvalidName);
  EXPECT_THAT(first_.seen(), SizeIs(0));
}

// A silent name server delays nobody who does not need it, and those who do get an error in time.
TEST_F(ResolverLimitsTest, ASilentServerFreezesNothingElse) {
  first_.SetA("known.test", "192.0.2.1");
  ResolverOptions options = Options();
  options.timeout_nanos = sys::kNanosPerSecond;
  Start(std::move(options));
  ASSERT_TRUE(Ask("known.test").ok());
  first_.SetDefault({.silent = true});
  Results results;
  for (int i = 0; i < 500; ++i) resolver_->Resolve({absl::StrCat("n", i, ".test")}, results.Callback());
  ASSERT_TRUE(first_.WaitForQueries("n0.test", kTypeA, 1));
  const sys::MonotonicNanos before = testing::Now();
  EXPECT_TRUE(Ask("known.test").ok());
  EXPECT_TRUE(Ask("127.0.0.1").ok());
  Results quick;
  resolver_->Resolve({"known.test"}, quick.Callback());
  EXPECT_THAT(quick.WaitFor(1), SizeIs(1));
  EXPECT_LT(testing::Now() - before, sys::kNanosPerSecond);
  const std::vector<Result> all = results.WaitFor(500);
  ASSERT_THAT(all, SizeIs(500));
  for (const Result& result : all) EXPECT_EQ(result.outcome, Outcome::kTimeout);
  EXPECT_EQ(resolver_->stats().results[static_cast<size_t>(Outcome::kTimeout)], 500);
}

TEST_F(ResolverLimitsTest, TooManyPendingLookUpsFailAtOnce) {
  first_.SetDefault({.silent = true});
  ResolverOptions options = Options();
  options.max_pending = 8;
  Start(std::move(options));
  Results results;
  for (int i = 0; i < 12; ++i) resolver_->Resolve({absl::StrCat("n", i, ".test")}, results.Callback());
  const std::vector<Result> refused = results.WaitFor(4);
  ASSERT_THAT(refused, SizeIs(4));
  for (const Result& result : refused) {
    EXPECT_EQ(result.outcome, Outcome::kServerFailure);
    EXPECT_THAT(std::string(result.status.message()), HasSubstr("too many pending"));
  }
  resolver_.reset();
  EXPECT_THAT(results.WaitFor(12), SizeIs(12));
}

TEST_F(ResolverLimitsTest, TheCallersDeadlineHolds) {
  first_.SetDefault({.silent = true});
  Start(Options());
  const sys::MonotonicNanos before = testing::Now();
  EXPECT_EQ(resolver_->ResolveBlocking({"a.test"}, InMillis(80)).outcome, Outcome::kTimeout);
  Results results;
  resolver_->Resolve({"b.test", FamilyPreference::kPreferIpv4, InMillis(80)}, results.Callback());
  ASSERT_THAT(results.WaitFor(1), SizeIs(1));
  EXPECT_EQ(results.WaitFor(1)[0].outcome, Outcome::kTimeout);
  resolver_->Resolve({"c.test", FamilyPreference::kPreferIpv4, /*deadline=*/1}, results.Callback());
  ASSERT_THAT(results.WaitFor(2), SizeIs(2));
  // The server's own time is 15 s.
  EXPECT_LT(testing::Now() - before, 5 * sys::kNanosPerSecond);
}

TEST_F(ResolverLimitsTest, TheEndCancelsWhatIsPending) {
  first_.SetDefault({.silent = true});
  Start(Options());
  Results results;
  for (int i = 0; i < 50; ++i) resolver_->Resolve({absl::StrCat("n", i, ".test")}, results.Callback());
  NamesResult names;
  resolver_->ResolveNames(Ip("192.0.2.1"), 0, [&](NamesResult result) { names = std::move(result); });
  resolver_.reset();
  const std::vector<Result> all = results.WaitFor(50);
  ASSERT_THAT(all, SizeIs(50));
  for (const Result& result : all) EXPECT_EQ(result.outcome, Outcome::kCancelled);
  EXPECT_EQ(names.outcome, Outcome::kCancelled);
}

// The last one to hold the resolver may be a callback.
TEST_F(ResolverLimitsTest, ACallbackMayDestroyTheResolver) {
  first_.SetA("a.test", "192.0.2.1");
  first_.Set("silent.test", kTypeA, {.silent = true});
  Start(Options());
  Results results;
  resolver_->Resolve({"silent.test"}, results.Callback());
  Resolver* resolver = resolver_.release();
  resolver->Resolve({"a.test"}, [resolver, callback = results.Callback()](Result result) mutable {
    delete resolver;
    callback(std::move(result));
  });
  const std::vector<Result> all = results.WaitFor(2);
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_TRUE(all[0].ok());
  EXPECT_EQ(all[1].outcome, Outcome::kCancelled);
}

TEST_F(ResolverLimitsTest, ManyThreadsAtOnce) {
  for (int i = 0; i < 20; ++i) first_.SetA(absl::StrCat("n", i, ".test"), absl::StrCat("192.0.2.", i), i % 3);
  Start(Options());
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        const Result result = Ask(absl::StrCat("n", i % 20, ".test"));
        EXPECT_THAT(Texts(result), ElementsAre(absl::StrCat("192.0.2.", i % 20)));
        clock_.Advance(sys::kNanosPerSecond / 50);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(ResolverLimitsTest, NoCacheMeansAQueryEachTime) {
  first_.SetA("a.test", "192.0.2.1");
  ResolverOptions options = Options();
  options.cache_ipv4_entries = options.cache_ipv6_entries = 0;
  Start(std::move(options));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(AskIpv4("a.test").ok());
  EXPECT_EQ(first_.count("a.test", kTypeA), 3);
}

TEST_F(ResolverLimitsTest, HostsAreReadAgain) {
  ResolverOptions options = Options();
  options.hosts_path = Write("hosts", "192.0.2.1 web.test\n");
  Start(std::move(options));
  EXPECT_THAT(Texts(AskIpv4("web.test")), ElementsAre("192.0.2.1"));
  Write("hosts", "192.0.2.2 web.test\n");
  EXPECT_TRUE(Becomes("web.test", "192.0.2.2"));
}

class ResolvConfTest : public ResolverLimitsTest {
 protected:
  ResolverOptions FileOptions(const std::string& resolv_conf) {
    ResolverOptions options = Options();
    options.name_servers.clear();
    options.resolv_conf_path = Write("resolv.conf", resolv_conf);
    options.resolv_conf_port = first_.address().port();
    return options;
  }
};

TEST_F(ResolvConfTest, TheSearchListIsFollowed) {
  first_.SetA("web.b.test", "192.0.2.2");
  first_.Set("nodata.a.test", kTypeA, {});
  first_.SetA("x.y.z", "192.0.2.3");
  first_.Set("broken.a.test", kTypeA, {.rcode = 2});
  first_.SetA("broken.b.test", "192.0.2.4");
  Start(FileOptions("nameserver 127.0.0.1\nsearch a.test b.test\noptions ndots:2\n"));
  EXPECT_THAT(Texts(Ask("web")), ElementsAre("192.0.2.2"));
  EXPECT_EQ(first_.count("web.a.test"), 2);
  EXPECT_EQ(first_.count("web"), 0);
  EXPECT_TRUE(resolver_->TryCache({"web"}).has_value());
  // Enough dots: as it stands, first.
  EXPECT_THAT(Texts(Ask("x.y.z")), ElementsAre("192.0.2.3"));
  EXPECT_EQ(first_.count("x.y.z.a.test"), 0);
  // A dot at the end: nothing else.
  EXPECT_EQ(Ask("web.").outcome, Outcome::kNotFound);
  EXPECT_EQ(first_.count("web", kTypeA), 1);
  // One of the names exists, though without an address; and a failure does not hide the next.
  EXPECT_EQ(AskIpv4("nodata").outcome, Outcome::kNoData);
  EXPECT_EQ(first_.count("nodata"), 1);
  EXPECT_THAT(Texts(AskIpv4("broken")), ElementsAre("192.0.2.4"));
}

TEST_F(ResolvConfTest, SilenceEndsTheSearch) {
  first_.SetDefault({.silent = true});
  Start(FileOptions("nameserver 127.0.0.1\nsearch a.test b.test\noptions timeout:1 attempts:1\n"));
  EXPECT_EQ(AskIpv4("web").outcome, Outcome::kTimeout);
  EXPECT_EQ(first_.count("web.b.test"), 0);
}

TEST_F(ResolvConfTest, WithoutAServerThisMachineIsAsked) {
  first_.SetA("a.test", "192.0.2.1");
  ResolverOptions options = FileOptions("");
  options.resolv_conf_path = folder_ + "/does-not-exist";
  Start(std::move(options));
  EXPECT_THAT(Texts(Ask("a.test")), ElementsAre("192.0.2.1"));
}

TEST_F(ResolvConfTest, IsReadAgain) {
  first_.SetA("web.a.test", "192.0.2.1", 0);
  first_.SetA("web.b.test", "192.0.2.2", 0);
  Start(FileOptions("nameserver 127.0.0.1\nsearch a.test\n"));
  EXPECT_THAT(Texts(AskIpv4("web")), ElementsAre("192.0.2.1"));
  // A file without a server, as it is while somebody writes it, changes nothing.
  Write("resolv.conf", "search b.test\n");
  const sys::MonotonicNanos later = InMillis(1200);
  while (testing::Now() < later) ASSERT_THAT(Texts(AskIpv4("web")), ElementsAre("192.0.2.1"));
  Write("resolv.conf", "nameserver 127.0.0.1\nsearch b.test\noptions timeout:2\n");
  EXPECT_TRUE(Becomes("web", "192.0.2.2"));
}

// What is in the air when the name servers change is asked of the new ones.
TEST_F(ResolvConfTest, PendingLookUpsMoveToTheNewServers) {
  first_.Set("a.test", kTypeA, {.silent = true});
  Start(FileOptions("nameserver 127.0.0.1\noptions timeout:30 attempts:1\n"));
  Results results;
  resolver_->Resolve({"a.test", FamilyPreference::kIpv4Only}, results.Callback());
  ASSERT_TRUE(first_.WaitForQueries("a.test", kTypeA, 1));
  first_.SetA("a.test", "192.0.2.1");
  Write("resolv.conf", "nameserver 127.0.0.1\noptions timeout:29 attempts:1\n");
  EXPECT_TRUE(Becomes("a.test", "192.0.2.1"));
  ASSERT_THAT(results.WaitFor(1), SizeIs(1));
  EXPECT_THAT(Texts(results.WaitFor(1)[0]), ElementsAre("192.0.2.1"));
}

}  // namespace
}  // namespace sluice::dns
