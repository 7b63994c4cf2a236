// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.hpp"

#include <ctime>

namespace stepcast::cli {

Interrupt::Interrupt() {
  sigemptyset(&signals_);
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) {
      sigaddset(&signals_, signal);
    }
  }
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  waiting_ = std::jthread([this](const std::stop_token& ended) { wait(ended); });
}

Interrupt::~Interrupt() {
  waiting_.request_stop();
  waiting_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void Interrupt::wait(const std::stop_token& ended) const {
  constexpr timespec kLook{0, 50'000'000};  // 50 ms between looks at whether the work has ended
  while (!ended.stop_requested()) {
    if (sigtimedwait(&signals_, nullptr, &kLook) > 0) {
      stop_.request_stop();
      pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
    }
  }
}

}  // namespace stepcast::cli
