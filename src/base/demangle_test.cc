#include "base/demangle.h"

#include <random>

#include <gtest/gtest.h>

#include "base/rust_names.h"

namespace wherefore {
namespace {

TEST(Demangle, NamesForPeople) {
  EXPECT_EQ(DemangleSymbol("malloc"), "malloc");
  EXPECT_EQ(DemangleSymbol("_ZNSt6vectorIiSaIiEE9push_backEOi"),
            "std::vector<int, std::allocator<int> >::push_back(int&&)");
  EXPECT_EQ(DemangleSymbol("_Z3foov.cold"), "foo()");
  EXPECT_EQ(DemangleSymbol("_Z3foov.part.0.constprop.2"), "foo()");
  EXPECT_EQ(DemangleSymbol("parse.isra.0"), "parse");
  EXPECT_EQ(DemangleSymbol("_Z"), "_Z");
  EXPECT_EQ(DemangleSymbol(""), "");
  EXPECT_EQ(Demangle("_ZN3foo3barEi"), "foo::bar(int)");
  EXPECT_EQ(Demangle("_Z3foov.cold"), "foo()");
  EXPECT_EQ(Demangle("main.main"), "main.main");
  EXPECT_EQ(Demangle("a.part.js"), "a.part.js") << "no symbol of a file";
  EXPECT_EQ(Demangle("_Zbroken"), "_Zbroken");
  const std::string endless = "_Z" + std::string(100'000, 'N');
  EXPECT_EQ(Demangle(endless), endless);
}

TEST(Demangle, RustsOlderScheme) {
  EXPECT_EQ(Demangle("_ZN4core3fmt5write17h0123456789abcdefE"), "core::fmt::write");
  EXPECT_EQ(Demangle("_ZN1r4work10P$LT$T$GT$3hot17h6c3888c6a8f74583E"), "r::work::P<T>::hot");
  EXPECT_EQ(Demangle("_ZN3std2rt10lang_start28_$u7b$$u7b$closure$u7d$$u7d$17ha86af84d9cc65291E"
                     ".llvm.10772153736117502730"),
            "std::rt::lang_start::{{closure}}");
  EXPECT_EQ(Demangle("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
                     "3bar17h930b740aa94f1d3aE"),
            "<Test + 'static as foo::Bar<Test>>::bar");
  EXPECT_EQ(Demangle("_ZN3foo3bar3bazE"), "foo::bar::baz") << "C++";
  EXPECT_EQ(Demangle("std::rt::lang_start::{{closure}}::h0123456789abcdef"),
            "std::rt::lang_start::{{closure}}");
}

TEST(Demangle, RustsOwnScheme) {
  constexpr std::pair<const char*, const char*> kNames[] = {
      {"_RNvCs6GmmlP4bgsG_1r4main", "r::main"},
      {"_RNvMNtCs6GmmlP4bgsG_1r4workINtB2_1PmE3hotB4_", "<r::work::P<u32>>::hot"},
      {"_RNCINvNtCsjrHSEGnQ3l9_3std2rt10lang_startuE0Cs6GmmlP4bgsG_1r",
       "std::rt::lang_start::<()>::{closure#0}"},
      {"_RNvXs_NtCs1_3foo3barNtB4_1SNtCs2_4core5Clone5clone",
       "<foo::bar::S as core::Clone>::clone"},
      {"_RNvYNtCs1_1a1SNtB4_1T1f", "<a::S as a::T>::f"},
      {"_RINvC1a1fTRhQeShAhj10_PyOpFEuEE",
       "a::f::<(&u8, &mut str, [u8], [u8; 16], *const u64, *mut _, fn())>"},
      {"_RINvC1a1fFG_KCRL0_hEtE", "a::f::<for<'a> extern \"C\" fn(&'a u8) -> u16>"},
      {"_RINvC1a1fDNtC1b1TINtC1b1UhEp4ItemmEL_E", "a::f::<dyn b::T + b::U<u8, Item = u32>>"},
      {"_RINvC1a1fKb1_Kan7f_Kc61_KpE", "a::f::<true, -127, 'a', _>"},
      {"_RNvC1au8gdel_5qa", "a::gödel"},
      {"_RNvC1a1f.llvm.1234567890", "a::f"},
      {"_RNSC1a4call", "a::{shim:call#0}"},
  };
  for (const auto& [symbol, name] : kNames) EXPECT_EQ(Demangle(symbol), name);
}

TEST(Demangle, WhatIsNoRustNameStaysAsItIs) {
  for (const char* symbol :
       {"_R", "_R1NvC1a1f", "_RNvC1a", "_RNvC1a9f", "_RNvC1a1fX", "_RB_", "_RIB_E", "_RNvB0_1f"}) {
    EXPECT_EQ(Demangle(symbol), symbol);
  }
  // Each back reference doubles the one before: the text would be endless.
  std::string bomb = "_RINvC1a1f";
  for (int i = 0; i < 60; ++i) bomb += i == 0 ? "Thh" : "TB9_B9_";
  EXPECT_EQ(Demangle(bomb), bomb);
  EXPECT_EQ(RustName("_R" + std::string(4000, 'N')), std::nullopt);
}

// Any bytes: a name or none, never a crash.
TEST(Demangle, AnyBytes) {
  std::minstd_rand random(20'261'115);
  const std::string letters = "CNvMXYIEBTRQASPOFGKLpDn_us0123hjy.";
  for (int i = 0; i < 200'000; ++i) {
    std::string symbol = "_R";
    for (auto length = random() % 40; length > 0; --length)
      symbol += letters[random() % letters.size()];
    EXPECT_FALSE(Demangle(symbol).empty());
  }
}

}  // namespace
}  // namespace wherefore
