// The extensions' tables.
#include <fstream>

#include <fmt/format.h>

#include "base/ascii.h"
#include "gateway/config/component_tables.h"
#include "settings/fields.h"

namespace wherefore::gateway {

using namespace settings;  // trees with places
namespace {

void ReadFileStorage(const Node& node, ExtensionConfig& out, Problems& problems) {
  static const Fields<ExtensionConfig> kFields = {
      {"directory", Text(&ExtensionConfig::directory)},
      {"timeout", Ignored("queues are files of their own")},
      {"create_directory", Ignored("the directory is created if it is missing")}};
  ReadMap(node, kFields, out, problems);
  if (out.directory.empty()) problems.Fail(out.place, "`file_storage` needs a `directory`");
}

void ReadBearerToken(const Node& node, ExtensionConfig& out, Problems& problems) {
  static const Fields<ExtensionConfig> kFields = {{"token", Text(&ExtensionConfig::token)},
                                                  {"filename", Text(&ExtensionConfig::token_file)},
                                                  {"scheme", Text(&ExtensionConfig::scheme)}};
  ReadMap(node, kFields, out, problems);
  if (out.scheme != "Bearer") {
    problems.Fail(out.place, "`scheme`: only Bearer is possible");
  }
  if (!out.token_file.empty()) {
    std::ifstream in(out.token_file);
    std::string line;
    std::getline(in, line);
    out.token = Trim(line);
    if (out.token.empty()) {
      problems.Fail(out.place, fmt::format("`filename`: no token in {}", out.token_file));
    }
  } else if (out.token.empty()) {
    problems.Fail(out.place,
                  "`bearertokenauth` needs a `token` or a `filename`; without one "
                  "everybody would be let in");
  }
}

struct WrittenHealthCheck {
  std::string endpoint = "localhost:13133";
  std::string path = "/";
};

void ReadHealthCheck(const Node& node, ExtensionConfig& out, Problems& problems) {
  static const Fields<WrittenHealthCheck> kFields = {
      {"endpoint", Text(&WrittenHealthCheck::endpoint)}, {"path", Text(&WrittenHealthCheck::path)}};
  WrittenHealthCheck written;
  ReadMap(node, kFields, written, problems);
  (void)ReadEndpoint(written.endpoint, out.place, out.health.host, out.health.port, problems);
  out.health.path = written.path.starts_with('/') ? written.path : "/" + written.path;
}

void ReadUnneeded(const Node& /*node*/, ExtensionConfig& out, Problems& problems) {
  problems.Warn(out.place, fmt::format("`{}` has no effect here: see /metrics, the status page and "
                                       "`wherefore doctor`",
                                       out.id));
}

}  // namespace

const ComponentTypes<ExtensionConfig>& ExtensionTypes() {
  static const ComponentTypes<ExtensionConfig> kTypes = {{"file_storage", ReadFileStorage},
                                                         {"bearertokenauth", ReadBearerToken},
                                                         {"health_check", ReadHealthCheck},
                                                         {"zpages", ReadUnneeded},
                                                         {"pprof", ReadUnneeded}};
  return kTypes;
}

}  // namespace wherefore::gateway
