#include "query/lens.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "profile/tree_path.h"

namespace wherefore::query {
namespace {

using profile::FlameTree;
using profile::TreeBuilder;

FlameTree Sample() {
  TreeBuilder b;
  const auto add = [&](std::initializer_list<const char*> stack, std::int64_t value) {
    std::uint32_t node = 0;
    for (const char* name : stack) node = b.Child(node, b.AddFunction({.name = name}));
    b.AddValue(node, value, 1);
  };
  add({"main", "handle", "parse", "std::sort"}, 10);
  add({"main", "handle", "parse"}, 5);
  add({"main", "handle", "rec", "rec", "rec"}, 4);
  add({"main", "idle"}, 3);
  return b.Build();
}

std::string Draw(const FlameTree& t) {
  std::string out;
  for (std::size_t i = 1; i < t.size(); ++i) {
    out += fmt::format("{}{}:{}/{} ", std::string(t.depth[i] - 1, '.'), t.Name(i), t.total[i],
                       t.self[i]);
  }
  return out + fmt::format("= {}", t.total[0]);
}

std::string Through(const char* text) {
  const auto lens = Lens::Parse(text);
  EXPECT_TRUE(lens) << text;
  return Draw(*lens->Apply(Sample(), CancelToken()));
}

TEST(Lens, EachStepDoesWhatItSays) {
  EXPECT_EQ(Through(""),
            "main:22/0 .handle:19/0 ..parse:15/5 ...std::sort:10/10 ..rec:4/0 ...rec:4/0 "
            "....rec:4/4 .idle:3/3 = 22");
  EXPECT_EQ(Through("focus:^parse$"), "parse:15/5 .std::sort:10/10 = 15");
  EXPECT_EQ(Through("hide:^handle$"),
            "main:22/0 .idle:3/3 .parse:15/5 ..std::sort:10/10 .rec:4/0 ..rec:4/0 ...rec:4/4 = 22");
  EXPECT_EQ(Through("merge:rec"),
            "main:22/0 .handle:19/0 ..parse:15/5 ...std::sort:10/10 ..rec:4/4 .idle:3/3 = 22");
  EXPECT_EQ(Through("collapse:handle"), "main:22/0 .handle:19/19 .idle:3/3 = 22");
  EXPECT_EQ(Through("drop:parse"),
            "main:7/0 .handle:4/0 ..rec:4/0 ...rec:4/0 ....rec:4/4 .idle:3/3 = 7");
  EXPECT_EQ(Through("my-code > focus:handle > merge:rec"),
            "handle:19/0 .parse:15/15 .rec:4/4 = 19");
}

FlameTree Of(
    std::initializer_list<std::pair<std::initializer_list<profile::FlameFunction>, int>> stacks) {
  TreeBuilder b;
  for (const auto& [stack, value] : stacks) {
    std::uint32_t node = 0;
    for (const profile::FlameFunction& f : stack) node = b.Child(node, b.AddFunction(f));
    b.AddValue(node, value, 1);
  }
  return b.Build();
}

TEST(Lens, RecursionThroughOthersIsItsOutermostCall) {
  EXPECT_EQ(Through("recursion:rec"),
            "main:22/0 .handle:19/0 ..parse:15/5 ...std::sort:10/10 ..rec:4/4 .idle:3/3 = 22");
  const FlameTree tree = Of({{{{"a"}, {"b"}, {"a"}, {"c"}}, 4},
                             {{{"a"}, {"b"}, {"c"}}, 2},
                             {{{"a"}, {"b"}, {"a"}, {"b"}, {"d"}}, 1}});
  const auto with = [&](const char* text) {
    return Draw(*Lens::Parse(text)->Apply(tree, CancelToken()));
  };
  EXPECT_EQ(with("recursion:^a$"), "a:7/0 .b:3/0 ..c:2/2 ..d:1/1 .c:4/4 = 7");
  EXPECT_EQ(with("recursion:."), "a:7/0 .b:3/0 ..c:2/2 ..d:1/1 .c:4/4 = 7");
  EXPECT_EQ(with("recursion:^z$"), Draw(tree));
}

TEST(Lens, OneFrameByItsPathOrItsAddress) {
  EXPECT_EQ(Through("focus-path:main;handle;rec"), "rec:4/0 .rec:4/0 ..rec:4/4 = 4");
  EXPECT_EQ(Through("focus-path:main;handle;rec;rec"), "rec:4/0 .rec:4/4 = 4");
  EXPECT_EQ(Through("focus-path:handle"), "= 0") << "a path begins at the top";
  EXPECT_EQ(Through("merge-path:main;handle;rec"),
            "main:22/0 .handle:19/0 ..parse:15/5 ...std::sort:10/10 ..rec:4/0 ...rec:4/4 "
            ".idle:3/3 = 22")
      << "the one frame, not those below it";
  EXPECT_EQ(Through("merge-path:main"),
            "handle:19/0 .parse:15/5 ..std::sort:10/10 .rec:4/0 ..rec:4/0 ...rec:4/4 idle:3/3 "
            "= 22");
  EXPECT_EQ(Through("hide:^main$ > focus-path:handle;parse"), "parse:15/5 .std::sort:10/10 = 15")
      << "a path in what the steps before leave";
  const FlameTree tree = Of({{{{.name = "f", .module = "x"}, {.name = "g", .module = "x"}}, 1},
                             {{{.name = "f", .module = "y"}, {.name = "g", .module = "y"}}, 2}});
  const auto with = [&](const std::string& text) {
    return Draw(*Lens::Parse(text)->Apply(tree, CancelToken()));
  };
  EXPECT_EQ(with("focus-path:f;g"), "g:1/1 g:2/2 = 3");
  EXPECT_EQ(with("focus-path:y`f;g"), "g:2/2 = 2");
  EXPECT_EQ(with("focus-path:z`f;g"), "= 0");
  const std::string address = profile::PathHashText(profile::PathHashes(tree)[4]);
  EXPECT_EQ(with("focus-path:@" + address), "g:2/2 = 2");
  EXPECT_EQ(Lens::Parse("focus-path:@" + address + " > merge-path:a;b")->Text(),
            "focus-path:@" + address + " > merge-path:a;b");
  for (const char* bad :
       {"focus-path:", "focus-path:@12", "merge-path:@", "focus-path", "invert:x"})
    EXPECT_FALSE(Lens::Parse(bad)) << bad;
}

TEST(Lens, InvertedTheWorkIsOnTopAndItsCallersBelow) {
  const std::string plain = Through("");
  EXPECT_EQ(Through("invert"),
            "idle:3/0 .main:3/3 parse:5/0 .handle:5/0 ..main:5/5 rec:4/0 .rec:4/0 ..rec:4/0 "
            "...handle:4/0 ....main:4/4 std::sort:10/0 .parse:10/0 ..handle:10/0 ...main:10/10 "
            "= 22");
  EXPECT_EQ(Through("invert > invert"), plain);
  EXPECT_EQ(Through("invert > focus-path:std::sort;parse"),
            "parse:10/0 .handle:10/0 ..main:10/10 = 10");
  // The table is the same: what a function did itself, and what it did with its callees.
  const auto rows = [](const char* text) {
    const FlameTree tree = *Lens::Parse(text)->Apply(Sample(), CancelToken());
    std::string out;
    for (const profile::TopRow& r : profile::Top(tree)) {
      out += fmt::format("{} {}/{} ", tree.functions[r.function].name, r.total, r.self);
    }
    return out;
  };
  EXPECT_EQ(rows("invert"), rows(""));
  EXPECT_EQ(rows("invert > invert"), rows(""));
}

TEST(Lens, AnInvertedTreeStaysWithinTheMemoryOfItsQuestion) {
  // A stack that leaves a value at every level: as many nodes again for each of them.
  TreeBuilder b;
  std::uint32_t node = 0;
  for (int i = 0; i < 3000; ++i) {
    node = b.Child(node, b.AddFunction({.name = fmt::format("f{}", i)}));
    b.AddValue(node, 1, 1);
  }
  const FlameTree tree = b.Build();
  const CancelToken cancel;
  cancel.SetMemoryLimit(32 << 20);
  const auto too_large = Lens::Parse("invert")->Apply(tree, cancel);
  ASSERT_FALSE(too_large);
  EXPECT_EQ(too_large.error().code(), Code::kLimit);
  EXPECT_EQ(cancel.memory_used(), 0);
}

TEST(Lens, TemplateInstancesBecomeOne) {
  TreeBuilder b;
  for (const char* name : {"Map<int, Less<int>>::find(int)", "Map<long>::find(int)",
                           "bool operator<(A<int>, B)", "broken<", "a->b"}) {
    b.AddValue(b.Child(0, b.AddFunction({.name = name})), 1, 1);
  }
  EXPECT_EQ(Draw(*Lens::Parse("merge-templates")->Apply(b.Build(), CancelToken())),
            "Map<>::find(int):2/2 a->b:1/1 bool operator<(A<int>, B):1/1 broken<:1/1 = 5");
  EXPECT_EQ(Lens::Parse("merge-templates > hide:a")->Text(), "merge-templates > hide:a");
}

TEST(Lens, RejectsUnknownWordsAndBadPatterns) {
  EXPECT_FALSE(Lens::Parse("zoom:x"));
  EXPECT_FALSE(Lens::Parse("focus:("));
  EXPECT_FALSE(Lens::Parse("focus"));
  EXPECT_EQ(Lens::Parse("hide:a > my-code")->Text(), "hide:a > my-code");
}

TEST(Lens, OwnCode) {
  const FlameTree all = Of({{{{.name = "_start"},
                              {.name = "main"},
                              {.name = "std::sort"},
                              {.name = "std::__sort"},
                              {.name = "Less"},
                              {.name = "memcmp", .module = "libc.so.6"}},
                             10},
                            {{{.name = "_start"},
                              {.name = "main"},
                              {.name = "operator new"},
                              {.name = "[wherefore hooks]"}},
                             5},
                            {{{.name = "start_thread"}, {.name = "std::thread::_Invoker"}}, 3},
                            {{{.name = "main"}}, 1}});
  const auto draw = [&](const char* text) {
    const auto lens = Lens::Parse(text);
    EXPECT_TRUE(lens) << text;
    return Draw(*lens->Apply(all, CancelToken()));
  };
  EXPECT_EQ(draw("own"), "[no own code]:3/3 main:16/6 .[2 std frames]:10/0 ..Less:10/10 = 19");
  EXPECT_EQ(draw("own:+^std::sort$"),
            "[no own code]:3/3 main:16/6 .std::sort:10/0 ..[1 std frame]:10/0 ...Less:10/10 = 19");
  EXPECT_EQ(draw("own:-."), "[no own code]:19/19 = 19");
  EXPECT_EQ(Lens::ParseWithOwn("hide:x > invert", "-a")->Text(), "hide:x > own:-a > invert");
  EXPECT_EQ(Lens::ParseWithOwn("", "default")->WithoutOwn().Text(), "");
  EXPECT_FALSE(Lens::Parse("own:nonsense"));
}

}  // namespace
}  // namespace wherefore::query
