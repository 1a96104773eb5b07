//===- runner.cpp - running a compiled program ----------------------------===//
//
// See runner.h. Each rank loads its parameters, gets its inputs, runs the entry
// as often as asked, and writes the parts of the outputs that are its own.
//
//===----------------------------------------------------------------------===//
#include "runner.h"

#include "inputs.h"
#include "npy.h"
#include "pplan_rt.h"
#include "safetensors.h"
#include "steplog.h"

#include <algorithm>
#include <chrono>

namespace pplan::rt {

namespace {

/// An arena that is freed at the end of a scope.
struct ArenaDeleter {
  void operator()(pplan_arena *A) const { pplan_rt_arena_destroy(A); }
};
using ArenaPtr = std::unique_ptr<pplan_arena, ArenaDeleter>;

/// What all ranks share.
struct Run {
  const pplan_program &P;
  const Options &O;
  RunResult &Result;
  InputSet Inputs;
  ParamStore Params;
  std::vector<std::unique_ptr<OutputFile>> Outputs; ///< empty: not written
  std::vector<uint64_t> DataOffsets;                ///< in the output files
  SafetensorsWriter Saved;                          ///< open when asked for
  StepLog Log;                                      ///< likewise
  int64_t FirstStep = 0;                            ///< counted from 0
};

/// What one rank has.
struct RankBuffers {
  ArenaPtr Arena;
  std::vector<ArenaPtr> Buffers;
  std::vector<const void *> Params;
  std::vector<void *> Inputs, Outputs, States;
};

pplan_status *makeBuffer(pplan_context *Ctx, const pplan_tensor &T,
                         RankBuffers &B, void *&Memory) {
  pplan_arena *Arena;
  if (pplan_status *Error = pplan_rt_arena_create(
          Ctx, byteSize(localSizes(T), T.dtype), &Arena))
    return Error;
  B.Buffers.emplace_back(Arena);
  Memory = pplan_rt_arena_base(Arena);
  return nullptr;
}

pplan_status *prepareRank(Run &R, pplan_context *Ctx, const Sizes &Coords,
                          RankBuffers &B) {
  if (pplan_status *Error = R.Params.load(Coords, B.Params))
    return Error;
  pplan_arena *Arena;
  if (pplan_status *Error =
          pplan_rt_arena_create(Ctx, R.P.arena_bytes, &Arena))
    return Error;
  B.Arena.reset(Arena);
  void *Memory;
  for (int32_t I = 0; I < R.P.num_inputs; ++I) {
    if (pplan_status *Error = makeBuffer(Ctx, R.P.inputs[I], B, Memory))
      return Error;
    if (pplan_status *Error = R.Inputs.fill(R.P, I, R.FirstStep, Coords, Memory))
      return Error;
    B.Inputs.push_back(Memory);
  }
  for (int32_t I = 0; I < R.P.num_outputs; ++I) {
    if (pplan_status *Error = makeBuffer(Ctx, R.P.outputs[I], B, Memory))
      return Error;
    B.Outputs.push_back(Memory);
  }
  for (int32_t I = 0; I < R.P.num_states; ++I) {
    if (pplan_status *Error =
            makeBuffer(Ctx, R.P.states[I].start.tensor, B, Memory))
      return Error;
    R.Params.begin(I, Coords, Memory);
    B.States.push_back(Memory);
  }
  return nullptr;
}

/// Location of the barriers around iterations; not part of the profile.
constexpr char IterationLoc[] = "iteration";

/// Runs the entry `Count` times; with `Seconds`, notes the time of each from the
/// moment all ranks are ready to the moment all are done.
pplan_status *iterate(Run &R, pplan_context *Ctx, const Sizes &Coords,
                      RankBuffers &B, int64_t Count,
                      std::vector<double> *Seconds) {
  std::vector<int32_t> Axes(R.P.num_axes);
  for (int32_t A = 0; A < R.P.num_axes; ++A)
    Axes[A] = A;
  pplan_comm *Everyone;
  if (pplan_status *Error =
          pplan_rt_comm(Ctx, Axes.data(), R.P.num_axes, &Everyone))
    return Error;
  pplan_stream *Stream = pplan_rt_default_stream(Ctx);
  for (int64_t I = 0; I < Count; ++I) {
    // A batch is read while the others may still compute.
    for (int32_t Input = 0; Seconds && Input < R.P.num_inputs; ++Input)
      if (R.Inputs.changes(Input))
        if (pplan_status *Error = R.Inputs.fill(
                R.P, Input, R.FirstStep + I, Coords, B.Inputs[Input]))
          return Error;
    if (pplan_status *Error = pplan_rt_barrier(Everyone, Stream, IterationLoc))
      return Error;
    auto Start = std::chrono::steady_clock::now();
    if (pplan_status *Error =
            R.P.entry(Ctx, pplan_rt_arena_base(B.Arena.get()), B.Params.data(),
                      B.States.data(),
                      const_cast<const void *const *>(B.Inputs.data()),
                      B.Outputs.data()))
      return Error;
    if (pplan_status *Error = pplan_rt_stream_synchronize(Stream))
      return Error;
    if (pplan_status *Error = pplan_rt_barrier(Everyone, Stream, IterationLoc))
      return Error;
    std::chrono::duration<double> Time =
        std::chrono::steady_clock::now() - Start;
    if (!Seconds || pplan_rt_rank(Ctx) != 0)
      continue;
    Seconds->push_back(Time.count());
    R.Log.write(R.P, R.FirstStep + I + 1, Time.count(), R.Inputs.tokensPerStep(), B.Outputs);
  }
  return nullptr;
}

void writeOutputs(Run &R, const Sizes &Coords, const RankBuffers &B) {
  for (size_t I = 0; I < R.Outputs.size(); ++I) {
    const pplan_tensor &T = R.P.outputs[I];
    if (writesOutput(R.P, T, Coords))
      gather(R.Outputs[I]->data() + R.DataOffsets[I],
             static_cast<const char *>(B.Outputs[I]), T,
             regionOf(R.P, T, Coords));
  }
  for (int32_t I = 0; R.Saved.isOpen() && I < R.P.num_states; ++I)
    R.Saved.write(I, Coords, B.States[I]);
}

pplan_status *runRank(Run &R, pplan_context *Ctx) {
  int32_t Rank = pplan_rt_rank(Ctx);
  Sizes Coords = coordsOf(R.P, Rank);
  RankBuffers B;
  if (pplan_status *Error = prepareRank(R, Ctx, Coords, B))
    return Error;
  if (pplan_status *Error = iterate(R, Ctx, Coords, B, R.O.Warmup, nullptr))
    return Error;
  uint64_t BytesBefore = pplan_rt_bytes_received(Ctx);
  if (R.O.Profile)
    pplan_rt_profile(Ctx, 1);
  if (pplan_status *Error =
          iterate(R, Ctx, Coords, B, R.O.Iterations, &R.Result.Seconds))
    return Error;
  R.Result.BytesReceived[Rank] = pplan_rt_bytes_received(Ctx) - BytesBefore;
  auto &Rows = R.Result.Profiles[Rank];
  Rows.resize(pplan_rt_profile_rows(Ctx, nullptr, 0));
  pplan_rt_profile_rows(Ctx, Rows.data(), static_cast<int64_t>(Rows.size()));
  Rows.erase(std::remove_if(Rows.begin(), Rows.end(),
                            [](const pplan_profile_row &Row) {
                              return Row.loc == IterationLoc;
                            }),
             Rows.end());
  writeOutputs(R, Coords, B);
  return nullptr;
}

pplan_status *createOutputs(Run &R) {
  if (!R.O.SaveDir.empty()) {
    if (pplan_status *Error = makeDirectory(R.O.SaveDir))
      return Error;
    if (pplan_status *Error =
            R.Saved.create(R.O.SaveDir + "/checkpoint.safetensors", R.P))
      return Error;
  }
  if (!R.O.LogFile.empty())
    if (pplan_status *Error = R.Log.open(R.O.LogFile))
      return Error;
  if (R.O.OutputDir.empty())
    return nullptr;
  if (pplan_status *Error = makeDirectory(R.O.OutputDir))
    return Error;
  for (int32_t I = 0; I < R.P.num_outputs; ++I) {
    const pplan_tensor &T = R.P.outputs[I];
    // A name is not a path.
    std::string Name = T.name;
    for (char &C : Name)
      if (C == '/')
        C = '_';
    std::string Header = npyHeader(T.dtype, globalSizes(T));
    auto File = std::make_unique<OutputFile>();
    if (pplan_status *Error =
            File->create(R.O.OutputDir + "/" + Name + ".npy",
                         Header.size() + byteSize(globalSizes(T), T.dtype)))
      return Error;
    std::copy(Header.begin(), Header.end(), File->data());
    R.DataOffsets.push_back(Header.size());
    R.Outputs.push_back(std::move(File));
  }
  return nullptr;
}

} // namespace

pplan_status *runProgram(const pplan_program &P, const Options &O,
                         RunResult &Result) {
  Run R{P, O, Result, {}, {P, O.Files}, {}, {}, {}, {}, 0};
  Result.Profiles.resize(P.num_ranks);
  Result.BytesReceived.resize(P.num_ranks);
  if (pplan_status *Error = R.Inputs.open(P, O))
    return Error;
  if (pplan_status *Error = R.Params.open())
    return Error;
  if (!O.LoadDir.empty())
    if (pplan_status *Error = R.Params.resume(O.LoadDir))
      return Error;
  R.FirstStep = R.Params.stepsDone();
  if (pplan_status *Error = createOutputs(R))
    return Error;
  std::vector<int64_t> AxisSizes;
  for (int32_t A = 0; A < P.num_axes; ++A)
    AxisSizes.push_back(P.axes[A].size);
  auto Body = [](pplan_context *Ctx, void *User) {
    return guarded(nullptr,
                   [&] { return runRank(*static_cast<Run *>(User), Ctx); });
  };
  if (pplan_status *Error =
          pplan_rt_launch(P.num_axes, AxisSizes.data(), Body, &R))
    return Error;
  Result.ParamBytesCopied = R.Params.copiedBytes();
  Result.ParamBytesMapped = R.Params.mappedBytes();
  for (auto &File : R.Outputs)
    if (pplan_status *Error = File->commit())
      return Error;
  if (R.Saved.isOpen())
    if (pplan_status *Error = R.Saved.commit())
      return Error;
  if (pplan_status *Error = R.Log.close())
    return Error;
  return nullptr;
}

} // namespace pplan::rt
