//===- params.cpp - loading each rank's parameters ------------------------===//
//
// See params.h.
//
//===----------------------------------------------------------------------===//
#include "params.h"

#include "dtype.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sys/mman.h>

namespace pplan::rt {

std::string ParamFiles::resolve(const std::string &Path) const {
  namespace fs = std::filesystem;
  fs::path Given(Path);
  for (const auto &[Old, New] : Renamed)
    if (Old == Path || Old == Given.filename())
      return New;
  if (!Root.empty())
    return fs::path(Root) / (Given.is_absolute() ? Given.filename() : Given);
  if (Given.is_absolute())
    return Path;
  std::error_code Code;
  fs::path Executable = fs::read_symlink("/proc/self/exe", Code);
  return Code ? Path : std::string(Executable.parent_path() / Given);
}

ShardPlace placeOf(const pplan_tensor &T, const Region &R) {
  // One run: from some dimension on everything is whole, before it there is one
  // index only.
  bool Whole = true, Contiguous = true;
  uint64_t Offset = 0, Stride = pplan_rt_dtype_size(T.dtype);
  for (int32_t D = T.rank; D-- > 0;) {
    const pplan_dim &Dim = T.dims[D];
    Contiguous &= R.Valid[D] == Dim.local_size;
    Contiguous &= Whole || R.Valid[D] == 1;
    Whole &= R.Valid[D] == Dim.global_size;
    Offset += static_cast<uint64_t>(R.Offset[D]) * Stride;
    Stride *= static_cast<uint64_t>(Dim.global_size);
  }
  return {Contiguous, Offset};
}

ParamStore::~ParamStore() {
  for (auto &Entry : Copies)
    std::free(Entry.second.Memory);
}

pplan_status *ParamStore::openFile(const pplan_param &Param) {
  if (!Param.path)
    return nullptr;
  std::string File = Files.resolve(Param.path);
  auto [It, New] = Maps.try_emplace(Param.path);
  if (New) {
    if (pplan_status *Error = It->second.open(File)) {
      StatusPtr Inner(Error);
      return makeError(PPLAN_IO, nullptr, -1,
                       "parameter '%s': %s; if the weights have moved, give "
                       "--params-root DIR or --param-file %s=FILE",
                       Param.tensor.name, pplan_rt_status_message(Error),
                       Param.path);
    }
  }
  uint64_t Size = It->second.size();
  if (Param.byte_offset > Size || Param.byte_size > Size - Param.byte_offset)
    return makeError(
        PPLAN_BAD_INPUT, nullptr, -1,
        "parameter '%s' is at bytes %llu to %llu of '%s', which has %llu "
        "bytes; is it the file that the program was compiled from?",
        Param.tensor.name, static_cast<unsigned long long>(Param.byte_offset),
        static_cast<unsigned long long>(Param.byte_offset + Param.byte_size),
        File.c_str(), static_cast<unsigned long long>(Size));
  return nullptr;
}

pplan_status *ParamStore::open() {
  for (int32_t I = 0; I < P.num_params; ++I)
    if (pplan_status *Error = openFile(P.params[I]))
      return Error;
  for (int32_t I = 0; I < P.num_states; ++I)
    if (pplan_status *Error = openFile(P.states[I].start))
      return Error;
  return nullptr;
}

const char *ParamStore::global(const pplan_param &Param) const {
  if (Param.data)
    return static_cast<const char *>(Param.data);
  return Maps.at(Param.path).data() + Param.byte_offset;
}

pplan_status *ParamStore::resume(const std::string &Dir) {
  std::string Path = Dir + "/checkpoint.safetensors";
  if (pplan_status *Error = Checkpoint.open(Path))
    return Error;
  auto bad = [&](const std::string &What) {
    return makeError(PPLAN_BAD_INPUT, nullptr, -1,
                     "'%s' %s; is it a checkpoint of this model and optimizer?",
                     Path.c_str(), What.c_str());
  };
  for (int32_t I = 0; I < P.num_states; ++I) {
    const pplan_tensor &T = P.states[I].start.tensor;
    auto It = Checkpoint.entries().find(T.name);
    if (It == Checkpoint.entries().end())
      return bad(format("has no tensor '%s'", T.name));
    const SafetensorsFile::Entry &E = It->second;
    if (E.Dtype != T.dtype || E.Shape != globalSizes(T))
      return bad(format("has '%s' as %s %s, but the program's is %s %s", T.name,
                        E.Dtype < 0 ? "an unknown type"
                                    : pplan_rt_dtype_name(E.Dtype),
                        shapeText(E.Shape).c_str(),
                        pplan_rt_dtype_name(T.dtype),
                        shapeText(globalSizes(T)).c_str()));
  }
  for (const auto &Entry : Checkpoint.entries()) {
    int32_t I = 0;
    while (I < P.num_states && Entry.first != P.states[I].start.tensor.name)
      ++I;
    if (I == P.num_states)
      return bad(format("has a tensor '%s', which the program lacks",
                        Entry.first.c_str()));
  }
  return nullptr;
}

int64_t ParamStore::stepsDone() const {
  if (!Checkpoint.isOpen())
    return 0;
  auto It = Checkpoint.entries().find("step");
  if (It == Checkpoint.entries().end() || It->second.Dtype != PPLAN_I64 ||
      !It->second.Shape.empty())
    return 0;
  int64_t Steps;
  std::memcpy(&Steps, Checkpoint.data("step"), 8);
  return Steps < 0 || Steps > (int64_t(1) << 40) ? 0 : Steps;
}

void ParamStore::begin(int32_t I, const Sizes &Coords, void *Local) const {
  const pplan_state &State = P.states[I];
  const pplan_tensor &T = State.start.tensor;
  if (Checkpoint.isOpen()) {
    scatter(static_cast<char *>(Local), Checkpoint.data(T.name), T,
            regionOf(P, T, Coords));
    return;
  }
  if (State.start.path || State.start.data) {
    scatter(static_cast<char *>(Local), global(State.start), T,
            regionOf(P, T, Coords));
    return;
  }
  uint64_t Bytes = byteSize(localSizes(T), T.dtype);
  size_t Size = pplan_rt_dtype_size(T.dtype);
  if (!State.init)
    std::memset(Local, 0, Bytes);
  for (uint64_t At = 0; State.init && At < Bytes; At += Size)
    std::memcpy(static_cast<char *>(Local) + At, State.init, Size);
}

void ParamStore::fill(Copy &C, int32_t I, const Region &R) {
  const pplan_param &Param = P.params[I];
  uint64_t Bytes = byteSize(localSizes(Param.tensor), Param.tensor.dtype);
  // Large copies in huge pages: packing weights for a GEMM walks over many pages.
  constexpr uint64_t HugePage = 2u << 20;
  bool Huge = Bytes >= 2 * HugePage;
  uint64_t Alignment =
      std::max<uint64_t>(P.param_alignment, Huge ? HugePage : 64);
  uint64_t Rounded = (Bytes + Alignment - 1) / Alignment * Alignment;
  C.Memory = std::aligned_alloc(Alignment, std::max(Rounded, Alignment));
  if (!C.Memory)
    return;
  if (Huge) // whole ones only, so that no memory beyond the copy is touched
    madvise(C.Memory, Bytes / HugePage * HugePage, MADV_HUGEPAGE);
  scatter(static_cast<char *>(C.Memory), global(Param), Param.tensor, R);
  if (Param.path)
    Maps.at(Param.path)
        .release(Param.byte_offset, Param.byte_offset + Param.byte_size);
}

pplan_status *ParamStore::load(const Sizes &Coords,
                               std::vector<const void *> &Pointers) {
  Pointers.clear();
  for (int32_t I = 0; I < P.num_params; ++I) {
    const pplan_tensor &T = P.params[I].tensor;
    Region R = regionOf(P, T, Coords);
    ShardPlace Place = placeOf(T, R);
    uint64_t Bytes = byteSize(localSizes(T), T.dtype);
    uint64_t Alignment =
        std::max<uint64_t>(P.param_alignment, pplan_rt_dtype_size(T.dtype));
    const char *InPlace = global(P.params[I]) + Place.ByteOffset;
    if (Place.Contiguous &&
        reinterpret_cast<uintptr_t>(InPlace) % Alignment == 0) {
      std::lock_guard<std::mutex> Lock(Mutex);
      Mapped += Bytes;
      Pointers.push_back(InPlace);
      continue;
    }
    Copy *C;
    {
      std::lock_guard<std::mutex> Lock(Mutex);
      C = &Copies[{I, R}];
    }
    std::call_once(C->Once, [&] {
      fill(*C, I, R);
      std::lock_guard<std::mutex> Lock(Mutex);
      Copied += Bytes;
    });
    if (!C->Memory)
      return makeError(PPLAN_OUT_OF_MEMORY, nullptr, -1,
                       "no memory for %llu bytes of parameter '%s'",
                       static_cast<unsigned long long>(Bytes), T.name);
    Pointers.push_back(C->Memory);
  }
  return nullptr;
}

} // namespace pplan::rt
