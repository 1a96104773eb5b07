//===- safetensors.cpp - files of tensors with names ----------------------===//
//
// See safetensors.h.
//
//===----------------------------------------------------------------------===//
#include "safetensors.h"

#include "options.h"
#include "status.h"

#include <algorithm>
#include <cstring>

namespace pplan::rt {

/// The format's names of element types.
static constexpr const char *DtypeNames[] = {
    "F32", "F64", "F16", "BF16", "BOOL", "I8", "U8", "I32", "I64"};
static const char *nameOf(int32_t Dtype) { return DtypeNames[Dtype]; }

pplan_status *SafetensorsWriter::create(const std::string &Path,
                                        const pplan_program &Program) {
  P = &Program;
  std::string Header = "{";
  uint64_t At = 0;
  for (int32_t I = 0; I < P->num_states; ++I) {
    const pplan_tensor &T = P->states[I].start.tensor;
    uint64_t End = At + byteSize(globalSizes(T), T.dtype);
    Header += (I ? "," : "") + jsonString(T.name) + ":{\"dtype\":\"" +
              nameOf(T.dtype) + "\",\"shape\":[";
    for (int32_t D = 0; D < T.rank; ++D)
      Header += format("%s%lld", D ? "," : "",
                       static_cast<long long>(T.dims[D].global_size));
    Header += format("],\"data_offsets\":[%llu,%llu]}",
                     static_cast<unsigned long long>(At),
                     static_cast<unsigned long long>(End));
    Offsets.push_back(At);
    At = End;
  }
  Header += "}";
  while (Header.size() % 8) // so that data is aligned
    Header += ' ';
  auto New = std::make_unique<OutputFile>();
  if (pplan_status *Error = New->create(Path, 8 + Header.size() + At))
    return Error;
  uint64_t Size = Header.size();
  for (int B = 0; B < 8; ++B)
    New->data()[B] = static_cast<char>(Size >> (8 * B));
  std::copy(Header.begin(), Header.end(), New->data() + 8);
  for (uint64_t &Offset : Offsets)
    Offset += 8 + Header.size();
  File = std::move(New);
  return nullptr;
}

void SafetensorsWriter::write(int32_t I, const Sizes &Coords,
                              const void *Local) {
  const pplan_tensor &T = P->states[I].start.tensor;
  if (writesOutput(*P, T, Coords))
    gather(File->data() + Offsets[I], static_cast<const char *>(Local), T,
           regionOf(*P, T, Coords));
}

namespace {

/// Reads the JSON of a header. Each function returns false where the text is not
/// what it expects; At is then the place.
class HeaderReader {
public:
  HeaderReader(const char *Text, uint64_t Size) : Text(Text), Size(Size) {}

  uint64_t place() const { return At; }

  bool read(std::map<std::string, SafetensorsFile::Entry> &Entries) {
    return readObject([&](const std::string &Name) {
             if (Name == "__metadata__")
               return readObject([&](const std::string &) {
                 std::string Ignored;
                 return readString(Ignored);
               });
             auto [It, New] = Entries.try_emplace(Name);
             return New && readEntry(It->second);
           }) &&
           (skip(), At == Size);
  }

private:
  void skip() {
    while (At < Size && (Text[At] == ' ' || Text[At] == '\n' ||
                         Text[At] == '\t' || Text[At] == '\r'))
      ++At;
  }
  bool take(char C) {
    skip();
    if (At == Size || Text[At] != C)
      return false;
    ++At;
    return true;
  }

  /// A string; of escapes only those that the writer uses.
  bool readString(std::string &Out) {
    if (!take('"'))
      return false;
    while (At < Size && Text[At] != '"') {
      if (Text[At] == '\\') {
        if (++At == Size)
          return false;
        if (Text[At] == 'u') {
          int Code = 0;
          for (int I = 0; I < 4; ++I) {
            int Digit = ++At < Size ? hexDigit(Text[At]) : -1;
            if (Digit < 0)
              return false;
            Code = Code * 16 + Digit;
          }
          if (Code > 0x7f)
            return false;
          Out += static_cast<char>(Code);
          ++At;
          continue;
        }
      }
      Out += Text[At++];
    }
    return take('"');
  }

  static int hexDigit(char C) {
    if (C >= '0' && C <= '9')
      return C - '0';
    if (C >= 'a' && C <= 'f')
      return C - 'a' + 10;
    return C >= 'A' && C <= 'F' ? C - 'A' + 10 : -1;
  }

  bool readNumber(uint64_t &Out) {
    skip();
    uint64_t Begin = At;
    Out = 0;
    while (At < Size && Text[At] >= '0' && Text[At] <= '9') {
      if (Out > (uint64_t(1) << 59))
        return false;
      Out = Out * 10 + static_cast<uint64_t>(Text[At++] - '0');
    }
    return At != Begin;
  }

  bool readNumbers(std::vector<uint64_t> &Out) {
    if (!take('['))
      return false;
    if (take(']'))
      return true;
    do {
      if (!readNumber(Out.emplace_back()))
        return false;
    } while (take(','));
    return take(']');
  }

  template <typename Member> bool readObject(Member ReadMember) {
    if (!take('{'))
      return false;
    if (take('}'))
      return true;
    do {
      std::string Name;
      if (!readString(Name) || !take(':') || !ReadMember(Name))
        return false;
    } while (take(','));
    return take('}');
  }

  bool readEntry(SafetensorsFile::Entry &Out) {
    std::string Dtype;
    std::vector<uint64_t> Shape, Offsets;
    bool Read = readObject([&](const std::string &Name) {
      if (Name == "dtype")
        return readString(Dtype);
      if (Name == "shape")
        return readNumbers(Shape);
      return Name == "data_offsets" && readNumbers(Offsets);
    });
    if (!Read || Dtype.empty() || Offsets.size() != 2)
      return false;
    for (int32_t D = 0; D < 9; ++D)
      if (Dtype == DtypeNames[D])
        Out.Dtype = D;
    for (uint64_t S : Shape)
      Out.Shape.push_back(static_cast<int64_t>(S));
    Out.Begin = Offsets[0], Out.End = Offsets[1];
    return Out.Begin <= Out.End;
  }

  const char *Text;
  uint64_t Size, At = 0;
};

} // namespace

pplan_status *SafetensorsFile::open(const std::string &Path) {
  auto bad = [&](const std::string &What) {
    return makeError(PPLAN_BAD_INPUT, nullptr, -1,
                     "'%s' is no usable .safetensors file: %s", Path.c_str(),
                     What.c_str());
  };
  if (pplan_status *Error = File.open(Path))
    return Error;
  uint64_t Size = 0;
  if (File.size() < 8)
    return bad("it is shorter than its first field");
  for (int B = 0; B < 8; ++B)
    Size |= static_cast<uint64_t>(static_cast<uint8_t>(File.data()[B]))
            << (8 * B);
  if (Size > File.size() - 8)
    return bad(format("its header of %llu bytes does not fit into its %llu",
                      static_cast<unsigned long long>(Size),
                      static_cast<unsigned long long>(File.size())));
  HeaderReader Reader(File.data() + 8, Size);
  if (!Reader.read(Entries))
    return bad(format("its header is malformed at byte %llu",
                      static_cast<unsigned long long>(8 + Reader.place())));
  for (auto &[Name, E] : Entries) {
    uint64_t Room = File.size() - 8 - Size;
    if (E.End > Room)
      return bad(format("'%s' ends at byte %llu of %llu", Name.c_str(),
                        static_cast<unsigned long long>(E.End),
                        static_cast<unsigned long long>(Room)));
    E.Begin += 8 + Size;
    E.End += 8 + Size;
    if (E.Dtype >= 0 && E.End - E.Begin != byteSize(E.Shape, E.Dtype))
      return bad(format("'%s' has %llu bytes, not those of its shape",
                        Name.c_str(),
                        static_cast<unsigned long long>(E.End - E.Begin)));
  }
  return nullptr;
}

} // namespace pplan::rt
