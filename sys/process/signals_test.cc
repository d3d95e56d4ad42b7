#include "sys/process/signals.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <thread>

namespace sluice::sys {
namespace {

// Signals are the whole process's: each case runs in a child of its own. True when `body` returned true there.
bool InChild(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(SignalReaderTest, GivesEachSignalWithItsSender) {
  EXPECT_TRUE(InChild([] {
    absl::StatusOr<SignalReader> reader = SignalReader::Create();
    if (!reader.ok() || reader->Read().has_value() || reader->hangup_ignored()) return false;
    for (int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) {
      kill(getpid(), number);
      const std::optional<ReceivedSignal> got = reader->WaitFor(10'000);
      if (!got.has_value() || got->number != number || got->sender != getpid()) return false;
    }
    return !reader->Read().has_value();
  }));
}

TEST(SignalReaderTest, ThreadsMadeLaterAreNotInterrupted) {
  EXPECT_TRUE(InChild([] {
    absl::StatusOr<SignalReader> reader = SignalReader::Create();
    bool blocked = false;
    std::thread([&] {
      sigset_t set;
      pthread_sigmask(SIG_BLOCK, nullptr, &set);
      blocked = sigismember(&set, SIGTERM) == 1 && sigismember(&set, SIGHUP) == 1;
    }).join();
    return reader.ok() && blocked;
  }));
}

TEST(SignalReaderTest, BrokenPipesAndUsr2DoNothing) {
  EXPECT_TRUE(InChild([] {
    absl::StatusOr<SignalReader> reader = SignalReader::Create();
    raise(SIGPIPE);
    raise(SIGUSR2);
    return reader.ok() && !reader->Read().has_value();
  }));
}

TEST(SignalReaderTest, WhatNohupIgnoresStaysIgnored) {
  EXPECT_TRUE(InChild([] {
    std::signal(SIGHUP, SIG_IGN);
    std::signal(SIGINT, SIG_IGN);
    absl::StatusOr<SignalReader> reader = SignalReader::Create();
    if (!reader.ok() || !reader->hangup_ignored()) return false;
    raise(SIGHUP);
    raise(SIGINT);
    kill(getpid(), SIGUSR1);
    const std::optional<ReceivedSignal> got = reader->WaitFor(10'000);
    return got.has_value() && got->number == SIGUSR1 && !reader->Read().has_value();
  }));
}

TEST(SignalReaderTest, TellsOfChildrenAlsoWhenTheParentIgnoredThem) {
  EXPECT_TRUE(InChild([] {
    std::signal(SIGCHLD, SIG_IGN);
    absl::StatusOr<SignalReader> reader = SignalReader::Create();
    const pid_t child = fork();
    if (child == 0) _exit(7);
    const std::optional<ReceivedSignal> got = reader->WaitFor(10'000);
    int status = 0;
    return got.has_value() && got->number == SIGCHLD && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7;
  }));
}

TEST(ResetSignalsOfChildTest, LeavesNothingBlockedOrIgnored) {
  EXPECT_TRUE(InChild([] {
    absl::StatusOr<SignalReader> reader = SignalReader::Create();
    ResetSignalsOfChild();
    sigset_t set;
    sigprocmask(SIG_BLOCK, nullptr, &set);
    struct sigaction action;
    sigaction(SIGPIPE, nullptr, &action);
    return reader.ok() && sigismember(&set, SIGTERM) == 0 && action.sa_handler == SIG_DFL;
  }));
}

}  // namespace
}  // namespace sluice::sys
