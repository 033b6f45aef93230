#include "sdk/sample/thread_registry.h"

#include "sdk/context/context.h"
#include "sdk/platform/thread_state.h"

namespace wherefore::sdk {
namespace {

// Another publisher's records are where we cannot know.
std::uintptr_t RecordAddress() {
  return g_foreign_publisher ? 0 : reinterpret_cast<std::uintptr_t>(&t_thread_block.record);
}

}  // namespace

void ThreadRegistry::EnterThisThread(std::uintptr_t stack_low, std::uintptr_t stack_high) {
  t_state.stack_low = stack_low;
  t_state.stack_high = stack_high;
  const std::uint32_t tid = CurrentTid();
  const FutexLockHold hold(lock_);
  threads_[tid] = {.context = RecordAddress(), .stack_high = stack_high};
  changes_.fetch_add(1, std::memory_order_relaxed);
}

void ThreadRegistry::LeaveThisThread() {
  const std::uint32_t tid = CurrentTid();
  changes_.fetch_add(1, std::memory_order_relaxed);
  const FutexLockHold hold(lock_);
  threads_.erase(tid);
  own_.erase(tid);
}

void ThreadRegistry::EnterOwnThread() {
  const std::uint32_t tid = CurrentTid();
  const FutexLockHold hold(lock_);
  own_.insert(tid);
}

ThreadRegistry::Thread ThreadRegistry::Find(std::uint32_t tid) {
  const FutexLockHold hold(lock_);
  const auto found = threads_.find(tid);
  return found == threads_.end() ? Thread{} : found->second;
}

bool ThreadRegistry::IsOwn(std::uint32_t tid) {
  const FutexLockHold hold(lock_);
  return own_.contains(tid);
}

std::size_t ThreadRegistry::own() {
  const FutexLockHold hold(lock_);
  return own_.size();
}

void ThreadRegistry::ForgetOthers() {
  lock_.HeldInChild();
  threads_.clear();
  own_.clear();
  t_state.tid = 0;
  threads_[CurrentTid()] = {.context = RecordAddress(), .stack_high = t_state.stack_high};
  lock_.ResetInChild();
}

}  // namespace wherefore::sdk
