// Does something when a token is cancelled, for as long as it lives: afterwards `act` neither runs
// nor will run. (A CancelToken::Guard does not wait for a callback that has begun on another
// thread.) The token's thread calls `act`; the owner's thread makes and destroys the scope.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "base/cancel.h"
#include "base/mutex.h"

namespace wherefore::net {

class CancelScope {
 public:
  CancelScope(const CancelToken& token, std::function<void()> act)
      : shared_(std::make_shared<Shared>(std::move(act))),
        guard_(token.OnCancel([shared = shared_] { shared->Run(); })) {}
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;
  ~CancelScope() { shared_->Forget(); }

 private:
  class Shared {
   public:
    explicit Shared(std::function<void()> act) : act_(std::move(act)) {}
    void Run() {
      MutexLock lock(mutex_);
      if (act_) act_();
    }
    void Forget() {
      MutexLock lock(mutex_);
      act_ = nullptr;
    }

   private:
    Mutex mutex_;
    std::function<void()> act_ GUARDED_BY(mutex_);
  };

  std::shared_ptr<Shared> shared_;
  CancelToken::Guard guard_;
};

}  // namespace wherefore::net
