// Whether a file may be shown as source because a profile names it.
//
// A profile's file names are its sender's words, and below a source root there is more than source:
// settings, credentials, keys. What looks like those is not shown, by its name or by what is in it.
// Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

namespace wherefore::api {

// `path` is below its root, as the file system has it: "deploy/.env".
[[nodiscard]] bool LooksSecretByName(std::string_view path);
// Private keys, in a file of whatever name.
[[nodiscard]] bool LooksSecretByContent(std::string_view text);

}  // namespace wherefore::api
