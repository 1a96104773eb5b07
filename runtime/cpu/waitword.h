//===- waitword.h - sleeping until shared state changes ---------*- C++ -*-===//
//
// An event count over a futex: one word that changes with every event, on which
// any number of threads can sleep. Decides how to sleep; what the events are and
// when to give up is left to world.h.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_RT_CPU_WAITWORD_H
#define PPLAN_RT_CPU_WAITWORD_H

#include <atomic>
#include <climits>
#include <cstdint>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace pplan::rt::cpu {

/// To wait: take a ticket, look at the state, sleep with the ticket if the state
/// is not yet as wanted. To signal: change the state, then notifyAll. An event
/// between ticket and sleep makes the sleep return at once.
class WaitWord {
public:
  uint32_t ticket() const { return Word.load(std::memory_order_acquire); }

  void notifyAll() {
    Word.fetch_add(1, std::memory_order_seq_cst);
    if (Sleepers.load(std::memory_order_seq_cst) != 0)
      syscall(SYS_futex, address(), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr,
              nullptr, 0);
  }

  /// Sleeps until the next event after `Ticket`, at most `Milliseconds`. May
  /// return early.
  void sleep(uint32_t Ticket, int Milliseconds) {
    timespec Limit = {Milliseconds / 1000, (Milliseconds % 1000) * 1000000L};
    Sleepers.fetch_add(1, std::memory_order_seq_cst);
    syscall(SYS_futex, address(), FUTEX_WAIT_PRIVATE, Ticket, &Limit, nullptr,
            0);
    Sleepers.fetch_sub(1, std::memory_order_seq_cst);
  }

private:
  uint32_t *address() { return reinterpret_cast<uint32_t *>(&Word); }

  static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t),
                "a futex needs the plain word");
  std::atomic<uint32_t> Word{0};
  std::atomic<uint32_t> Sleepers{0};
};

} // namespace pplan::rt::cpu

#endif // PPLAN_RT_CPU_WAITWORD_H
