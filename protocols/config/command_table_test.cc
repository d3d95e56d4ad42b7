#include "protocols/config/command_table.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "protocols/config/file_reader.h"
#include "protocols/config/testing/build_text.h"

namespace sluice::config {
namespace {

using ::testing::HasSubstr;

TEST(CommandTableTest, NamesAreUniqueAndFound) {
  std::set<absl::string_view> names;
  for (const Command& command : Commands()) {
    EXPECT_TRUE(names.insert(command.name).second) << command.name;
    EXPECT_EQ(FindCommand(command.name), &command);
    EXPECT_LE(command.min_arguments, command.max_arguments) << command.name;
    EXPECT_EQ(command.handle != nullptr, command.status == CommandStatus::kSupported) << command.name;
    EXPECT_FALSE(command.note.empty()) << command.name;
  }
  EXPECT_EQ(FindCommand("Log"), nullptr);
  EXPECT_EQ(FindCommand(""), nullptr);
}

// README.md has one line for each command, in the same order, with the same status and the same note.
TEST(CommandTableTest, ReadmeSaysTheSame) {
  SystemFileReader files;
  const absl::StatusOr<std::string> readme = files.Read("protocols/config/README.md", kConfigurationLimitBytes);
  ASSERT_TRUE(readme.ok()) << readme.status();
  const absl::string_view section = absl::string_view(*readme).substr(readme->find("\n## Commands\n"));
  std::vector<std::string> written, expected;
  for (absl::string_view line : absl::StrSplit(section.substr(0, section.find("\n## Options")), '\n')) {
    if (absl::StartsWith(line, "| `")) written.push_back(std::string(line));
  }
  for (const Command& command : Commands()) {
    expected.push_back(
        absl::StrCat("| `", command.name, "` | ", CommandStatusName(command.status), " | ", command.note, " |"));
  }
  EXPECT_EQ(written, expected);
}

// Fewer and more arguments than the table says, for every command that checks them.
TEST(CommandTableTest, ArityIsHeld) {
  for (const Command& command : Commands()) {
    if (command.status != CommandStatus::kSupported) continue;
    for (const int count : {command.min_arguments - 1, command.max_arguments + 1}) {
      if (count < 0 || count > 100) continue;
      std::string line(command.name);
      for (int i = 0; i < count; ++i) absl::StrAppend(&line, " 1");
      EXPECT_THAT(Said(line), HasSubstr(absl::StrCat("test.cfg:1: error: ", command.name, ": takes "))) << line;
      EXPECT_THAT(Said(line), HasSubstr(absl::StrCat("here there are ", count, ", write ", command.name))) << line;
    }
  }
}

// No command that is not enforced is let through, whatever its arguments.
TEST(CommandTableTest, NothingIsAcceptedThatIsNotThere) {
  for (const Command& command : Commands()) {
    const std::string text = absl::StrCat(command.name, " 1 2 3\n", kSomeService);
    if (command.status == CommandStatus::kNotBuilt) {
      EXPECT_THAT(Said(text), HasSubstr(absl::StrCat("test.cfg:1: error: ", command.name, ": is not built yet, ")));
      EXPECT_EQ(BuildText(text).snapshot, nullptr);
    } else if (command.status == CommandStatus::kRefused) {
      EXPECT_THAT(Said(text), HasSubstr(absl::StrCat("test.cfg:1: error: ", command.name, ": is not supported, ")));
      EXPECT_EQ(BuildText(text).snapshot, nullptr);
    } else if (command.status == CommandStatus::kIgnored) {
      EXPECT_THAT(Said(text), HasSubstr(absl::StrCat("test.cfg:1: warning: ", command.name, ": has no effect, ")));
      EXPECT_NE(BuildText(text).snapshot, nullptr);
    }
  }
}

TEST(CommandTableTest, UnknownCommandsAreErrorsWithASuggestion) {
  EXPECT_THAT(Said("logfromat x\n"),
              HasSubstr("test.cfg:1: error: 'logfromat' is no command, nothing is passed over in "
                        "silence, did you mean logformat?"));
  EXPECT_THAT(Said("quite_different x\n"), HasSubstr("see protocols/config/README.md"));
}

}  // namespace
}  // namespace sluice::config
