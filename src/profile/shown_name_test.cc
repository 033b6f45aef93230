#include "profile/shown_name.h"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "base/test_source.h"

namespace wherefore::profile {
namespace {

TEST(ShownName, IsThatOfTheSharedVectors) {
  std::ifstream in(TestSource("tests/golden/shown_names.tsv"));
  std::string line;
  int checked = 0;
  while (std::getline(in, line)) {
    if (line.starts_with('#')) continue;
    std::istringstream fields(line);
    std::string name;
    std::string characters;
    std::string shown;
    std::getline(fields, name, '\t');
    std::getline(fields, characters, '\t');
    std::getline(fields, shown, '\t');
    EXPECT_EQ(FittingName(name, std::stoul(characters)), shown) << line;
    ++checked;
  }
  EXPECT_GT(checked, 20) << "no vectors found";
}

TEST(ShownName, NoNameIsTooOdd) {
  for (const char* name :
       {"operator", "operator ", "operator\"\"", "<", "<<>>::", "::", "a::", "(", ")",
        "std::basic_string<", "std::__cxx11::basic_string<char", "-> >", "/", "...."}) {
    for (const std::size_t characters : {0, 1, 3, 80}) {
      EXPECT_LE(FittingName(name, characters).size(), std::string_view(name).size()) << name;
    }
    EXPECT_FALSE(NameLadder(name).empty());
  }
  EXPECT_EQ(FittingName(std::string(10'000, 'x'), 20).size(),
            2000u);  // to be cut by whoever shows it
}

}  // namespace
}  // namespace wherefore::profile
