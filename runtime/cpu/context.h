//===- context.h - what the ABI's opaque types are here ---------*- C++ -*-===//
//
// The objects of the threads back end: a context per rank, with its streams,
// events, arenas and communicators. Streams run each piece of work at once, so
// an event is reached as soon as it is recorded.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_RT_CPU_CONTEXT_H
#define PPLAN_RT_CPU_CONTEXT_H

#include "../core/profile.h"
#include "world.h"

#include <cstdlib>
#include <memory>

struct pplan_stream {
  pplan_context *Context;
};

struct pplan_event {
  pplan_context *Context;
};

struct pplan_arena {
  void *Mapping;
  size_t MappingBytes;
  void *Base;
  uint64_t Bytes;
};

struct pplan_comm {
  pplan_context *Context;
  std::vector<int32_t> Axes;
  std::vector<int64_t> AxisSizes; ///< of Axes
  pplan::rt::cpu::Group *Group;
  int32_t Rank;          ///< in the group
  uint64_t Phase = 0;    ///< phases of the group that this rank has reached
  uint64_t NumCalls = 0; ///< collectives made; its parity picks slot buffers

  int32_t size() const { return static_cast<int32_t>(Group->Members.size()); }
};

struct FreeDeleter {
  void operator()(void *P) const { std::free(P); }
};

struct pplan_context {
  pplan::rt::cpu::World *World;
  int32_t Rank;
  std::vector<int64_t> Coords;
  pplan_stream DefaultStream;
  std::vector<std::unique_ptr<pplan_comm>> Comms;
  std::vector<pplan::rt::cpu::Channel *> SendTo, RecvFrom; ///< by peer, or null
  pplan::rt::Profile Profile;
  uint64_t BytesReceived = 0;
  std::unique_ptr<void, FreeDeleter> GemmBuffer; ///< made when first needed
};

#endif // PPLAN_RT_CPU_CONTEXT_H
