#include "base/json_writer.h"

#include <gtest/gtest.h>

namespace wherefore {
namespace {

TEST(JsonWriter, PlacesCommasAndQuotesBigNumbers) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Field("a", 1).Field("big", std::int64_t{9'007'199'254'740'993});
  json.Key("list").BeginArray().Int(1).String("x").Null().EndArray().Field("ok", true).EndObject();
  EXPECT_EQ(out, R"({"a":1,"big":"9007199254740993","list":[1,"x",null],"ok":true})");
}

TEST(JsonWriter, AlwaysWritesValidText) {
  std::string out;
  AppendJsonString(out, "a\"\\\n\x01\xff\xc3\xbc");
  EXPECT_EQ(out, "\"a\\\"\\\\\\n\\u0001\xef\xbf\xbd\xc3\xbc\"");
}

}  // namespace
}  // namespace wherefore
