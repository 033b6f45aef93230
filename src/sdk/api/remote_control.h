// Remote control: what the server is told of this process, and what it may change in it.
//
// The functions run on the exporter's thread (opamp_client.h) and take no lock of Runtime's, which
// waits for that thread when it stops. What the server chose holds until it chooses otherwise, also
// while it cannot be reached.
#pragma once

#include "sdk/net/opamp_client.h"

namespace wherefore::sdk {

[[nodiscard]] OpampHost RemoteControl();

}  // namespace wherefore::sdk
