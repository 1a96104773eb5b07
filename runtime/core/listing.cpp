//===- listing.cpp - what a program takes, gives and needs ----------------===//
//
// --list-io and --memory. The JSON has a "schema" with a version.
//
//===----------------------------------------------------------------------===//
#include "options.h"
#include "status.h"

namespace pplan::rt {

std::string jsonString(const std::string &Text) {
  std::string Out = "\"";
  for (char C : Text) {
    if (C == '"' || C == '\\')
      Out += '\\';
    if (static_cast<unsigned char>(C) < 0x20)
      Out += format("\\u%04x", C);
    else
      Out += C;
  }
  return Out + "\"";
}

static std::string jsonSizes(const Sizes &S) {
  std::string Out = "[";
  for (size_t I = 0; I < S.size(); ++I)
    Out += format("%s%lld", I ? ", " : "", static_cast<long long>(S[I]));
  return Out + "]";
}

static std::string jsonSharding(const pplan_program &P, const pplan_tensor &T) {
  std::string Out = "[";
  for (int32_t D = 0; D < T.rank; ++D) {
    Out += D ? ", [" : "[";
    for (int32_t A = 0; A < T.dims[D].num_axes; ++A)
      Out += (A ? ", " : "") + jsonString(P.axes[T.dims[D].axes[A]].name);
    Out += "]";
  }
  return Out + "]";
}

static std::string tensorLine(const pplan_program &P, const pplan_tensor &T,
                              const char *Kind, bool Json) {
  std::string Dtype = pplan_rt_dtype_name(T.dtype);
  if (!Json)
    return format("%s\t%s\t%s\t%s\t%s\t%s\n", Kind, T.name, Dtype.c_str(),
                  shapeText(globalSizes(T)).c_str(),
                  shardingText(P, T).c_str(), shapeText(localSizes(T)).c_str());
  return format("    {\"name\": %s, \"dtype\": \"%s\", \"shape\": %s, "
                "\"sharding\": %s, \"local_shape\": %s}",
                jsonString(T.name).c_str(), Dtype.c_str(),
                jsonSizes(globalSizes(T)).c_str(), jsonSharding(P, T).c_str(),
                jsonSizes(localSizes(T)).c_str());
}

template <typename GetTensor>
static std::string jsonTensors(const pplan_program &P, int32_t Count,
                               GetTensor Get) {
  std::string Out = "[\n";
  for (int32_t I = 0; I < Count; ++I)
    Out += tensorLine(P, Get(I), "", true) + (I + 1 < Count ? ",\n" : "\n");
  return Out + "  ]";
}

std::string listIO(const pplan_program &P, bool Json) {
  if (!Json) {
    std::string Out = "kind\tname\tdtype\tshape\tsharding\tlocal_shape\n";
    for (int32_t I = 0; I < P.num_inputs; ++I)
      Out += tensorLine(P, P.inputs[I], "input", false);
    for (int32_t I = 0; I < P.num_outputs; ++I)
      Out += tensorLine(P, P.outputs[I], "output", false);
    for (int32_t I = 0; I < P.num_states; ++I)
      Out += tensorLine(P, P.states[I].start.tensor, "state", false);
    return Out;
  }
  std::string Mesh = "[";
  for (int32_t A = 0; A < P.num_axes; ++A)
    Mesh += format("%s{\"name\": %s, \"size\": %lld}", A ? ", " : "",
                   jsonString(P.axes[A].name).c_str(),
                   static_cast<long long>(P.axes[A].size));
  return format("{\n  \"schema\": \"pplan.program-io.v1\",\n  \"name\": %s,\n"
                "  \"num_ranks\": %d,\n  \"mesh\": %s],\n",
                jsonString(P.name).c_str(), P.num_ranks, Mesh.c_str()) +
         "  \"inputs\": " +
         jsonTensors(P, P.num_inputs, [&](int32_t I) { return P.inputs[I]; }) +
         ",\n  \"outputs\": " +
         jsonTensors(P, P.num_outputs, [&](int32_t I) { return P.outputs[I]; }) +
         ",\n  \"states\": " +
         jsonTensors(P, P.num_states,
                     [&](int32_t I) { return P.states[I].start.tensor; }) +
         "\n}\n";
}

std::string listMemory(const pplan_program &P, bool Json) {
  auto local = [](const pplan_tensor &T) {
    return byteSize(localSizes(T), T.dtype);
  };
  uint64_t Inputs = 0, Outputs = 0, Params = 0, States = 0;
  for (int32_t I = 0; I < P.num_inputs; ++I)
    Inputs += local(P.inputs[I]);
  for (int32_t I = 0; I < P.num_outputs; ++I)
    Outputs += local(P.outputs[I]);
  for (int32_t I = 0; I < P.num_params; ++I)
    Params += local(P.params[I].tensor);
  for (int32_t I = 0; I < P.num_states; ++I)
    States += local(P.states[I].start.tensor);
  struct Line {
    const char *Kind;
    uint64_t Bytes;
  };
  const Line Lines[] = {{"arena", P.arena_bytes},
                        {"params", Params},
                        {"states", States},
                        {"inputs", Inputs},
                        {"outputs", Outputs},
                        {"reserve", pplan_rt_reserve_bytes()}};
  uint64_t Total = 0;
  std::string Out = Json ? "{\n  \"schema\": \"pplan.program-memory.v1\",\n"
                         : "kind\tbytes_per_rank\n";
  for (const Line &L : Lines) {
    auto Bytes = static_cast<unsigned long long>(L.Bytes);
    Out += Json ? format("  \"%s_bytes\": %llu,\n", L.Kind, Bytes)
                : format("%s\t%llu\n", L.Kind, Bytes);
    Total += L.Bytes;
  }
  auto Sum = static_cast<unsigned long long>(Total);
  if (!Json)
    return Out + format("total\t%llu\n", Sum);
  return Out + format("  \"total_bytes\": %llu,\n  \"num_ranks\": %d\n}\n", Sum,
                      P.num_ranks);
}

} // namespace pplan::rt
