// A request as it waits in a queue, and as it goes on from there. Any thread.
#pragma once

#include <string_view>

#include "gateway/export/queue.h"
#include "profile/sink.h"

namespace wherefore::gateway {

[[nodiscard]] formats::Signal SignalOf(const profile::WriteRequest& request);

// The payload is the sender's own bytes unless the batch was changed, or they are in a layout that
// the next hop would misunderstand. Takes the batch of counters, which become differences when the
// entry is written.
[[nodiscard]] QueueEntry EntryOf(profile::WriteRequest& request);
// What goes on of a batch whose bytes are these, all but its data. The same bytes have the same
// identity, after a restart too.
[[nodiscard]] profile::WriteRequest RequestOf(const QueuedBatch& queued, std::string_view bytes);

}  // namespace wherefore::gateway
