// What people may ask in SQL, and that nothing else gets through.
#include <string>

#include <gtest/gtest.h>

#include "base/test_directory.h"
#include "store/engine/embedded_transport.h"
#include "store/engine/schema.h"
#include "store/sql/guard.h"
#include "store/sql/statement.h"

namespace wherefore::store {
namespace {

std::string Clean(std::string_view text) {
  const auto statement = OneStatement(text);
  return statement ? *statement : "error: " + statement.error().message();
}

TEST(OneStatement, LosesCommentsAndTheLastSemicolon) {
  EXPECT_EQ(Clean("SELECT 1"), "SELECT 1");
  EXPECT_EQ(Clean("SELECT 1 ;; \n -- done\n ; /* x */"), "SELECT 1");
  EXPECT_EQ(Clean("SELECT /* a ; ' */ 1 -- b ; '\n, 2 # c"), "SELECT             1         \n, 2");
  EXPECT_EQ(Clean("SELECT 'a;b', 'it''s \\' -- no', \"x;y\", `p;q`"),
            "SELECT 'a;b', 'it''s \\' -- no', \"x;y\", `p;q`");
}

TEST(OneStatement, SaysWhereItIsWrong) {
  EXPECT_EQ(Clean("SELECT 1;\nDROP TABLE samples"),
            "error: line 1, column 9: one statement at a time, please");
  EXPECT_EQ(Clean("SELECT 1; /* */ SELECT 2"),
            "error: line 1, column 16: one statement at a time, please");
  EXPECT_EQ(Clean("SELECT\n  'open"), "error: line 2, column 3: this ' is not closed");
  EXPECT_EQ(Clean("SELECT 'open\\'"), "error: line 1, column 8: this ' is not closed");
  EXPECT_EQ(Clean("SELECT /* 1"), "error: line 1, column 8: this comment does not end");
  EXPECT_EQ(Clean("SELECT $$a$$"), "error: line 1, column 8: '$': texts stand in single quotes");
  EXPECT_EQ(Clean("SELECT {a:UInt8}"),
            "error: line 1, column 8: parameters in braces are not known here");
  EXPECT_EQ(Clean(std::string_view("SELECT 1\0", 9)), "error: line 1, column 9: a zero byte");
  EXPECT_EQ(Clean(" ; -- nothing"), "error: the statement is empty");
  EXPECT_EQ(Clean(std::string(70'000, ' ')), "error: a statement has at most 64 kB");
}

class Guard : public testing::Test {
 protected:
  void SetUp() override {
    WHEREFORE_SKIP_WITHOUT_ENGINE();
    auto opened = OpenEmbedded({.path = directory_ / "engine"});
    ASSERT_TRUE(opened) << opened.error().message();
    transport_ = std::move(*opened);
    ASSERT_TRUE(CreateTables(*transport_));
    guard_ = std::make_unique<SqlGuard>(*transport_, std::set<std::string>{"samples", "spans"});
  }
  // Empty: it may run.
  std::string Check(std::string_view text) {
    const auto statement = OneStatement(text);
    if (!statement) return statement.error().message();
    const auto checked = guard_->Check(*statement, {}, CancelToken());
    return checked ? std::string() : checked.error().message();
  }
  TestDirectory directory_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<SqlGuard> guard_;
};

TEST_F(Guard, QuestionsOfPeoplePass) {
  for (const char* statement :
       {"SELECT service_name, sum(value) FROM samples GROUP BY service_name ORDER BY 2 DESC LIMIT "
        "10",
        "WITH t AS (SELECT service, max(time) AS last FROM samples GROUP BY service) SELECT * FROM "
        "t",
        "SELECT count() OVER (PARTITION BY service ORDER BY time), quantileIf(0.99)(value, n > 1), "
        "sumOrNull(value) FROM samples",
        "SELECT s.name, countIf(s.duration > 1e9) / count(), formatReadableSize(sum(s.duration)) "
        "FROM spans AS s WHERE s.name ILIKE '%pay%' GROUP BY ALL",
        "SELECT toStartOfHour(fromUnixTimestamp64Nano(time)) AS h, arrayMap(x -> x * 2, [1, 2]), "
        "CAST('1' AS UInt8), 1::Int8, if(1, 2, 3), CASE WHEN 1 THEN 2 END FROM samples",
        "SELECT * FROM samples ANY LEFT JOIN (SELECT service, any(name) AS n FROM spans GROUP BY "
        "service) AS x USING (service)",
        "SELECT DISTINCT service FROM samples WHERE service IN (SELECT service FROM spans) UNION "
        "ALL SELECT 1",
        "SELECT arrayJoin([1,2,3]) AS a, lagInFrame(a) OVER (ORDER BY a), "
        "argMaxIf(a, a, a > 1) OVER ()",
        "SELECT value FROM samples WHERE 1 ORDER BY value WITH FILL LIMIT 1 BY service LIMIT 5"}) {
    EXPECT_EQ(Check(statement), "") << statement;
  }
}

TEST_F(Guard, EverythingElseIsRefusedBySentence) {
  const auto refused = [&](const char* statement, const char* what) {
    const std::string said = Check(statement);
    EXPECT_EQ(said, std::string(what) + " is not allowed here: statements read samples, spans")
        << statement;
  };
  refused("SELECT * FROM samples_v1", "the table 'samples_v1'");
  refused("SELECT * FROM `samples_v1`", "the table 'samples_v1'");
  refused("SELECT * FROM system.tables", "the table 'system.tables'");
  refused("SELECT * FROM default.samples", "the table 'default.samples'");
  refused("SELECT * FROM nowhere.samples, information_schema.tables",
          "the table 'nowhere.samples'");
  refused("SELECT argMaxMerge(argMaxState(1, 2))", "the function 'argMaxMerge'");
  refused("SELECT 1 IN samples_v1", "the table 'samples_v1'");
  refused("SELECT 1 IN (system.one)", "the table 'system.one'");
  refused("SELECT (SELECT count() FROM stacks_v1)", "the table 'stacks_v1'");
  refused("WITH x AS (SELECT * FROM system.users) SELECT * FROM x", "the table 'system.users'");
  refused("SELECT * FROM file('/etc/passwd', 'LineAsString')", "the table function 'file'");
  refused("SELECT * FROM url('http://127.0.0.1/', 'CSV')", "the table function 'url'");
  refused("SELECT * FROM numbers(1000000000000)", "the table function 'numbers'");
  refused("SELECT * FROM samples JOIN remote('127.0.0.1', 'system.one') AS r ON 1",
          "the table function 'remote'");
  refused("SELECT * FROM (SELECT * FROM merge('.*'))", "the table function 'merge'");
  refused("SELECT * FROM VALUES('a UInt8', 1)", "the table function 'VALUES'");
  refused("SELECT file('/etc/passwd')", "the function 'file'");
  refused("SELECT sleep(3)", "the function 'sleep'");
  refused("SELECT hostName()", "the function 'hostName'");
  refused("SELECT getSetting('max_threads')", "the function 'getSetting'");
  refused("SELECT dictGet('x', 'y', 1)", "the function 'dictGet'");
  refused("SELECT joinGet('x', 'y', 1)", "the function 'joinGet'");
  refused("SELECT currentUser(), user()", "the function 'currentUser'");
  refused("SELECT addressToSymbol(1)", "the function 'addressToSymbol'");
  refused("SELECT * REPLACE (file('x') AS value) FROM samples", "the function 'file'");
  refused("SELECT * APPLY (file) FROM samples", "'ColumnsApplyTransformer'");
  refused("SELECT 1 SETTINGS max_memory_usage = 0", "SETTINGS");
  refused("SELECT 1 FROM (SELECT 1 SETTINGS max_threads = 99)", "SETTINGS");
  refused("SELECT 1 FORMAT CSV", "SETTINGS, FORMAT or INTO OUTFILE");
  refused("SELECT 1 INTO OUTFILE '/tmp/x'", "SETTINGS, FORMAT or INTO OUTFILE");
  refused("INSERT INTO samples SELECT 1", "a statement other than SELECT");
  refused("DROP VIEW samples", "a statement other than SELECT");
  refused("EXPLAIN SELECT 1", "a statement other than SELECT");
  refused("DESCRIBE samples", "a statement other than SELECT");
  refused("SHOW TABLES", "a statement other than SELECT");
  refused("SYSTEM SHUTDOWN", "a statement other than SELECT");
  refused("SET max_threads = 1", "a statement other than SELECT");
  refused("KILL QUERY WHERE 1", "a statement other than SELECT");
  refused("CREATE TABLE t ENGINE = Memory AS SELECT 1", "a statement other than SELECT");
  refused("USE system", "a statement other than SELECT");
  refused("SELEC 1", "a statement other than SELECT");
  refused("optimize = 1 SELECT 1 FROM system.one", "a statement other than SELECT");
  refused("graph = 1 SELECT 1", "a statement other than SELECT");
  refused("SELECT CAST(x, concat('Int', '8'))", "CAST to a type that is worked out");
  refused("SELECT CAST(unhex('00'), 'AggregateFunction(sum, UInt64)')",
          "a state of an aggregate function");
  refused("SELECT arrayReduce('sum', [1])", "the function 'arrayReduce'");
  EXPECT_TRUE(Check("SELECT 1\nFRM samples x").starts_with("line 2, column "))
      << Check("SELECT 1\nFRM samples x");
}

}  // namespace
}  // namespace wherefore::store
