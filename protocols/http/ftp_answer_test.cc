#include "protocols/http/ftp_answer.h"

#include <cerrno>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice::http {
namespace {

using ::testing::HasSubstr;
using upstream::FtpAnswer;

int StatusOf(int code, FtpStep step) {
  FtpAnswer answer;
  answer.reply.code = code;
  return RefusalOf(answer, step, "h").answer.status;
}

TEST(FtpAnswerTest, CodesOfTheServer) {
  EXPECT_EQ(StatusOf(421, FtpStep::kGreeting), 503);
  EXPECT_EQ(StatusOf(530, FtpStep::kLogin), 401);
  EXPECT_EQ(StatusOf(332, FtpStep::kLogin), 401);
  EXPECT_EQ(StatusOf(530, FtpStep::kFile), 403);
  EXPECT_EQ(StatusOf(550, FtpStep::kFile), 404);
  EXPECT_EQ(StatusOf(550, FtpStep::kFolder), 404);
  EXPECT_EQ(StatusOf(550, FtpStep::kStore), 403);
  EXPECT_EQ(StatusOf(550, FtpStep::kPassive), 502);
  EXPECT_EQ(StatusOf(553, FtpStep::kStore), 403);
  EXPECT_EQ(StatusOf(552, FtpStep::kStore), 413);
  EXPECT_EQ(StatusOf(452, FtpStep::kStore), 503);
  EXPECT_EQ(StatusOf(500, FtpStep::kPassive), 502);
  EXPECT_EQ(StatusOf(226, FtpStep::kPassive), 502);
}

TEST(FtpAnswerTest, ALoginIsAskedForAndTheTextIsPassedOn) {
  FtpAnswer answer;
  answer.reply = {530, "Please log in"};
  const FtpRefusal refusal = RefusalOf(answer, FtpStep::kLogin, "files.test");
  EXPECT_EQ(refusal.answer.more_fields, "WWW-Authenticate: Basic realm=\"ftp files.test\", charset=\"UTF-8\"\r\n");
  EXPECT_THAT(refusal.answer.text, HasSubstr("files.test"));
  EXPECT_THAT(refusal.answer.text, HasSubstr("530 Please log in"));
  EXPECT_EQ(refusal.result.number, 515);
}

TEST(FtpAnswerTest, FaultsWithoutAReply) {
  FtpAnswer answer;
  answer.fault = FtpAnswer::Fault::kTimeout;
  EXPECT_EQ(RefusalOf(answer, FtpStep::kData, "h").answer.status, 504);
  answer.fault = FtpAnswer::Fault::kClosed;
  EXPECT_EQ(RefusalOf(answer, FtpStep::kData, "h").answer.status, 502);
  answer.fault = FtpAnswer::Fault::kBadReply;
  EXPECT_EQ(RefusalOf(answer, FtpStep::kGreeting, "h").answer.status, 502);
  answer.fault = FtpAnswer::Fault::kFailed;
  answer.error = ECONNRESET;
  const FtpRefusal reset = RefusalOf(answer, FtpStep::kGreeting, "h");
  EXPECT_EQ(reset.answer.status, 502);
  EXPECT_THAT(reset.answer.text, HasSubstr("Connection reset"));
}

}  // namespace
}  // namespace sluice::http
