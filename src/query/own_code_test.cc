#include "query/own_code.h"

#include <gtest/gtest.h>

namespace wherefore::query {
namespace {

std::string_view Kind(std::string name, std::string module = "shop", std::string file = "") {
  static const OwnCode own = *OwnCode::Parse("");
  profile::FlameFunction f;
  f.name = std::move(name);
  f.module = std::move(module);
  f.file = std::move(file);
  return own.KindOf(f);
}

TEST(OwnCode, OfCpp) {
  for (const char* own :
       {"Parser::ParseString(std::string const&)", "main", "(anonymous namespace)::Work(int)",
        "std_like::f()", "bool shop::operator==<int>(std::vector<int> const&)", "Clone::Run()",
        "auto shop::Visit<std::variant<int> >(int)::{lambda(int)#1}::operator()(int) const",
        "std::string shop::Name<int>()", "shop::Stdio::std::x"})
    EXPECT_EQ(Kind(own), "") << own;
  for (const char* std :
       {"std::vector<int, std::allocator<int> >::push_back(int&&)",
        "void std::__cxx11::basic_string<char>::_M_construct<char const*>(char const*, int)",
        "operator new(unsigned long)", "__gnu_cxx::new_allocator<int>::allocate(unsigned long)",
        "__cxa_throw", "std::enable_if<true, void>::type std::__invoke_impl<void, F>(F&&)"})
    EXPECT_EQ(Kind(std), "std") << std;
  EXPECT_EQ(Kind("malloc", "libc.so.6"), "libc");
  EXPECT_EQ(Kind("__libc_start_main"), "libc");
  EXPECT_EQ(Kind("start_thread"), "libc");
  EXPECT_EQ(Kind("std::string::append", "libstdc++.so.6"), "std");
  EXPECT_EQ(Kind("SSL_read", "libssl.so.3"), "library");
  EXPECT_EQ(Kind("Price", "libshop.so"), "");
  EXPECT_EQ(Kind("boost::asio::io_context::run()"), "library");
  EXPECT_EQ(Kind("do_syscall_64", "[kernel.kallsyms]"), "kernel");
  EXPECT_EQ(Kind("clock_gettime", "linux-vdso.so.1"), "kernel");
}

TEST(OwnCode, OfProfilers) {
  EXPECT_EQ(Kind("[wherefore hooks]"), "profiler");
  EXPECT_EQ(Kind("[wherefore]"), "profiler");
  EXPECT_EQ(Kind("wherefore::Span::Span(char const*)", "shop"), "profiler");
  EXPECT_EQ(Kind("wherefore_span_start", "shop"), "profiler");
  EXPECT_EQ(Kind("anything", "libwherefore.so"), "profiler");
  EXPECT_EQ(Kind("runtime/pprof.(*profileBuilder).build"), "profiler");
  EXPECT_EQ(Kind("[unknown]"), "library");
  for (const char* thread : {"collector", "exporter", "wall clock sampler"}) {
    EXPECT_EQ(Kind(thread, ""), "profiler") << "libwherefore's, below [wherefore]";
    EXPECT_EQ(Kind(thread, "shop"), "") << "a function of the program's";
  }
}

TEST(OwnCode, OfGo) {
  EXPECT_EQ(Kind("main.parse"), "");
  EXPECT_EQ(Kind("main.(*Server).handle.func1"), "");
  EXPECT_EQ(Kind("github.com/acme/shop/cart.(*Cart).Add"), "");
  EXPECT_EQ(Kind("runtime.mallocgc"), "runtime");
  EXPECT_EQ(Kind("internal/runtime/maps.(*Map).Get"), "runtime");
  EXPECT_EQ(Kind("net/http.(*conn).serve"), "std");
  EXPECT_EQ(Kind("encoding/json.(*decodeState).object"), "std");
  EXPECT_EQ(Kind("sync.(*Mutex).Lock"), "std");
  EXPECT_EQ(Kind("golang.org/x/net/http2.(*Framer).ReadFrame"), "library");
  EXPECT_EQ(Kind("github.com/other/lib.F", "", "/root/go/pkg/mod/github.com/other/lib@v1/f.go"),
            "library");
}

TEST(OwnCode, OfOtherLanguages) {
  EXPECT_EQ(Kind("Shop.parse", ""), "");
  EXPECT_EQ(Kind("com.acme.shop.Cart.add", ""), "");
  EXPECT_EQ(Kind("io.acme.shop.Cart.add", ""), "");
  EXPECT_EQ(Kind("java/util/HashMap.get", ""), "runtime");
  EXPECT_EQ(Kind("java.util.HashMap.get", ""), "runtime");
  EXPECT_EQ(Kind("org.springframework.web.servlet.DispatcherServlet.doGet", ""), "library");
  EXPECT_EQ(Kind("./main.js:parse:12", ""), "");
  EXPECT_EQ(Kind("node:internal/http:emit:3", ""), "runtime");
  EXPECT_EQ(Kind("./node_modules/express/lib/router.js:handle:7", ""), "library");
  EXPECT_EQ(Kind("parse", "", "/srv/shop/main.py"), "");
  EXPECT_EQ(Kind("compile", "", "/usr/lib/python3.11/re/__init__.py"), "runtime");
  EXPECT_EQ(Kind("get", "", "/venv/lib/python3.11/site-packages/requests/api.py"), "library");
  EXPECT_EQ(Kind("shop::parse", ""), "");
  EXPECT_EQ(Kind("<shop::Cart as core::fmt::Display>::fmt", ""), "");
  EXPECT_EQ(Kind("core::ops::function::FnOnce::call_once", ""), "std");
  EXPECT_EQ(Kind("<alloc::vec::Vec<T> as core::clone::Clone>::clone", ""), "std");
  EXPECT_EQ(Kind("tokio::runtime::task::raw::poll", ""), "library");
}

TEST(OwnCode, RulesComeFirst) {
  const OwnCode own = *OwnCode::Parse("+^boost:: -/third_party/  +`Keep$");
  EXPECT_TRUE(own.IsOwn({.name = "boost::f()"}));
  EXPECT_EQ(own.KindOf({.name = "f", .file = "/src/third_party/x.cc"}), "library");
  EXPECT_TRUE(own.IsOwn({.name = "Keep", .module = "libc.so.6"}));
  EXPECT_FALSE(own.IsOwn({.name = "std::sort"}));
  EXPECT_FALSE(OwnCode::Parse("-.")->IsOwn({.name = "main"}));
  EXPECT_TRUE(OwnCode::Parse("default")->IsOwn({.name = "main"}));
  EXPECT_NE(OwnCode::Parse("boost").error().message().find("expected +regex"), std::string::npos);
  EXPECT_FALSE(OwnCode::Parse("+("));
  OwnChain chain;
  chain.Add("libc");
  EXPECT_EQ(chain.Name(), "[1 libc frame]");
  for (int i = 0; i < 18; ++i) chain.Add("libc");
  EXPECT_EQ(chain.Name(), "[19 libc frames]");
  chain.Add("std");
  EXPECT_EQ(chain.Name(), "[20 library frames]");
}

}  // namespace
}  // namespace wherefore::query
