#include "api/source_kind.h"

#include <gtest/gtest.h>

namespace wherefore::api {
namespace {

TEST(SourceKind, SettingsCredentialsAndKeysAreNotSource) {
  for (const char* const path : {".env",
                                 "deploy/.env",
                                 ".env.production",
                                 "prod.env",
                                 "PROD.ENV",
                                 ".git/config",
                                 ".git/hooks/run.py",
                                 ".ssh/id_rsa",
                                 "home/.aws/credentials",
                                 ".npmrc",
                                 ".netrc",
                                 "config/database.yml",
                                 "secrets.yaml",
                                 "appsettings.json",
                                 "server.key",
                                 "server.pem",
                                 "client.p12",
                                 "store.jks",
                                 "id_rsa",
                                 "id_ed25519",
                                 "id_rsa.pub",
                                 "terraform.tfvars",
                                 "terraform.tfstate",
                                 "credentials",
                                 "db-password",
                                 "secrets/db",
                                 "keys/signing",
                                 "etc/shadow",
                                 "token",
                                 "api_key",
                                 "dump.sql.bak",
                                 "users.csv",
                                 "notes.txt",
                                 ".cargo/.env",
                                 ".cargo/credentials.toml",
                                 ".config/gcloud/access.py",
                                 "wallet.kdbx",
                                 ""}) {
    EXPECT_TRUE(LooksSecretByName(path)) << path;
  }
}

TEST(SourceKind, SourceIsSourceWhateverItIsCalled) {
  for (const char* const path : {"main.cc",
                                 "src/token.cc",
                                 "auth/password_hash.go",
                                 "secrets.py",
                                 "keys/keys.rs",
                                 "private/impl.h",
                                 "include/c++/12/vector",
                                 "bits/stl_vector.h",
                                 "QtCore/QString",
                                 "QtCore/QPasswordDigestor",
                                 "Eigen/Dense",
                                 ".cargo/registry/src/serde-1.0/src/lib.rs",
                                 ".venv/lib/python3.11/site-packages/flask/app.py",
                                 "webpack.config.js",
                                 "a.s",
                                 "kernel.cu",
                                 "Main.java",
                                 "app.vue",
                                 "page.html.erb",
                                 "index.tmpl",
                                 "query.sql",
                                 "Makefile",
                                 "a b.c"}) {
    EXPECT_FALSE(LooksSecretByName(path)) << path;
  }
}

TEST(SourceKind, APrivateKeyIsOneInAnyFile) {
  EXPECT_TRUE(LooksSecretByContent("x\n-----BEGIN RSA PRIVATE KEY-----\nMII"));
  EXPECT_TRUE(LooksSecretByContent("-----BEGIN CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----"));
  EXPECT_TRUE(LooksSecretByContent("-----BEGIN OPENSSH PRIVATE KEY-----"));
  EXPECT_FALSE(LooksSecretByContent("-----BEGIN CERTIFICATE-----\nPRIVATE KEY"));
  EXPECT_FALSE(LooksSecretByContent("// begins with a PRIVATE KEY"));
  EXPECT_FALSE(LooksSecretByContent(""));
}

}  // namespace
}  // namespace wherefore::api
