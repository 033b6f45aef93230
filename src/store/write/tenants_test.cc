// Tenants do not see, delete or repeat each other's data.
#include <fstream>

#include "journal/file.h"
#include "journal/identities.h"
#include "store/test_store.h"
#include "store/write/tenant_names.h"

namespace wherefore::store {
namespace {

using profile::Tenant;

// Two names with one number.
constexpr const char* kOne = "team-3194";
constexpr const char* kOther = "team-28812";

TEST(TenantNames, ASecondNameOfOneNumberIsRefusedAlsoAfterARestart) {
  ASSERT_EQ(profile::TenantNumber(kOne), profile::TenantNumber(kOther));
  const TestDirectory directory;
  for (int start = 0; start < 2; ++start) {
    TenantNames names;
    ASSERT_TRUE(names.Open(directory / "tenants"));
    // Asking claims nothing.
    EXPECT_EQ(static_cast<bool>(names.Check(Tenant(kOther))), start == 0);
    EXPECT_TRUE(names.Claim(Tenant(kOne)));
    EXPECT_TRUE(names.Claim(Tenant("somebody else")));
    EXPECT_TRUE(names.Check(Tenant(kOne)));
    for (const auto& refused : {names.Claim(Tenant(kOther)), names.Check(Tenant(kOther))}) {
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code(), Code::kInvalid);
      EXPECT_NE(refused.error().message().find(kOne), std::string::npos);
    }
  }
}

TEST(TenantNames, ADamagedLineIsForgottenAndTheRestStays) {
  const TestDirectory directory;
  const std::string path = directory / "tenants";
  {
    TenantNames names;
    ASSERT_TRUE(names.Open(path));
    ASSERT_TRUE(names.Claim(Tenant(kOne)));
    ASSERT_TRUE(names.Claim(Tenant("b")));
  }
  std::string text = *journal::ReadWholeFile(path);
  text[text.find("team")] = 'T';
  std::ofstream(path) << text;
  TenantNames names;
  ASSERT_TRUE(names.Open(path));
  EXPECT_TRUE(names.Check(Tenant(kOther)));
  EXPECT_TRUE(names.Claim(Tenant(kOne)));
  EXPECT_FALSE(names.Check(Tenant(kOther)));
}

class Tenants : public StoreTest {
 protected:
  profile::WriteRequest RequestOf(const std::string& tenant, const std::string& identity,
                                  std::int64_t value = 30) {
    BatchBuilder batch;
    batch.Add({.time_ns = now_ - 1'000'000'000}, {{{"work", "main"}, value}});
    auto request = batch.Request(identity, Tenant(tenant).number);
    request.tenant_name = tenant;
    return request;
  }
  std::int64_t TotalOf(const std::string& tenant) {
    Flush();
    return StackTotals(*store_, "shop", Tenant(tenant).number)["main;work"];
  }
};

TEST_F(Tenants, ANameThatCannotBeToldFromAnotherWritesNothing) {
  Write(RequestOf(kOne, "a"));
  const auto refused = WriteNow(*store_, RequestOf(kOther, "b"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kInvalid);
  EXPECT_FALSE(WriteNow(*store_, RequestOf(kOther, "a"))) << "no repeat of somebody else's request";
  EXPECT_EQ(TotalOf(kOne), 30);
  EXPECT_FALSE(store_->CheckTenant(Tenant(kOther)));
}

TEST_F(Tenants, ANumberWithoutANameTakesItsFirstWriters) {
  Write([&] {
    auto request = RequestOf(kOne, "a");
    request.tenant_name.clear();  // as a version wrote it that kept no names
    return request;
  }());
  EXPECT_TRUE(store_->CheckTenant(Tenant(kOther)));
  Write(RequestOf(kOne, "b"));
  EXPECT_FALSE(store_->CheckTenant(Tenant(kOther)));
  EXPECT_EQ(TotalOf(kOne), 60);
}

TEST_F(Tenants, ADeleteForgetsNoRequestOfOthers) {
  Write(RequestOf("a", "request of a"));
  Write(RequestOf("b", "request of b"));
  Flush();
  DeleteRequest remove{.tenant = Tenant("a").number, .range = {0, INT64_MAX}};
  const auto services = store_->reader().Services(remove.tenant, remove.range, {});
  ASSERT_TRUE(services);
  for (const ServiceRow& row : *services) {
    remove.selections.push_back({row.dictionary, {}, {}});
  }
  ASSERT_TRUE(store_->Delete(remove));
  EXPECT_EQ(TotalOf("a"), 0);
  EXPECT_TRUE(Write(RequestOf("b", "request of b")).repeated);
  Open();
  EXPECT_TRUE(Write(RequestOf("b", "request of b")).repeated);
  EXPECT_EQ(TotalOf("b"), 30);
  EXPECT_FALSE(Write(RequestOf("a", "request of a")).repeated) << "what was deleted may come again";
  EXPECT_EQ(TotalOf("a"), 30);
}

using Repeats = Tenants;

TEST_F(Repeats, AreKnownAfterALongDowntime) {
  Write(RequestOf("", "sent before"));
  Flush();
  store_.reset();
  // As if all of it had happened long ago.
  const std::string path = directory_ / "data/identities.log";
  std::filesystem::rename(path, path + ".now");
  journal::IdentityLog now;
  auto records = *now.Open(path + ".now");
  ASSERT_FALSE(records.empty());
  for (journal::IdentityRecord& record : records)
    record.time_ns -= 3 * journal::Identities::kLifetimeNs;
  journal::IdentityLog log;
  ASSERT_TRUE(log.Open(path));
  ASSERT_TRUE(log.Append(records, records.back().time_ns));
  Open();
  EXPECT_TRUE(Write(RequestOf("", "sent before")).repeated);
  EXPECT_EQ(TotalOf(""), 30);
}

}  // namespace
}  // namespace wherefore::store
