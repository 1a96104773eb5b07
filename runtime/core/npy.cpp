//===- npy.cpp - NumPy's .npy format --------------------------------------===//
//
// See npy.h. The header is a Python dictionary with three known keys; exactly
// that much of Python is read here, with every step bounded by the header's end.
//
//===----------------------------------------------------------------------===//
#include "npy.h"

#include "status.h"

#include <cstring>

namespace pplan::rt {

namespace {

struct DtypeName {
  const char *Descr;
  int32_t Dtype;
};
constexpr DtypeName DtypeNames[] = {
    {"<f4", PPLAN_F32}, {"<f8", PPLAN_F64}, {"<f2", PPLAN_F16},
    {"|V2", PPLAN_BF16}, {"<V2", PPLAN_BF16}, {"|b1", PPLAN_I1},
    {"|i1", PPLAN_I8},  {"|u1", PPLAN_U8},  {"<i4", PPLAN_I32},
    {"<i8", PPLAN_I64}};

/// Reads the dictionary; each function returns false where the text is not what
/// it should be.
class Parser {
public:
  Parser(const char *Begin, const char *End) : At(Begin), End(End) {}

  bool dictionary(std::string &Descr, bool &Fortran, Sizes &Shape) {
    bool HasDescr = false, HasOrder = false, HasShape = false;
    if (!take('{'))
      return false;
    while (!take('}')) {
      std::string Key;
      if (!text(Key) || !take(':'))
        return false;
      bool Good = false;
      if (Key == "descr")
        Good = HasDescr = text(Descr);
      else if (Key == "fortran_order")
        Good = HasOrder = boolean(Fortran);
      else if (Key == "shape")
        Good = HasShape = tuple(Shape);
      if (!Good)
        return false;
      if (!take(',') && !peek('}'))
        return false;
    }
    return HasDescr && HasOrder && HasShape;
  }

private:
  void skipSpace() {
    while (At < End && (*At == ' ' || *At == '\n' || *At == '\t'))
      ++At;
  }
  bool peek(char C) {
    skipSpace();
    return At < End && *At == C;
  }
  bool take(char C) {
    if (!peek(C))
      return false;
    ++At;
    return true;
  }
  bool word(const char *Word) {
    skipSpace();
    size_t Size = std::strlen(Word);
    if (static_cast<size_t>(End - At) < Size ||
        std::memcmp(At, Word, Size) != 0)
      return false;
    At += Size;
    return true;
  }
  bool text(std::string &Out) {
    skipSpace();
    if (At == End || (*At != '\'' && *At != '"'))
      return false;
    char Quote = *At++;
    const char *Start = At;
    while (At < End && *At != Quote)
      ++At;
    if (At == End)
      return false;
    Out.assign(Start, At++);
    return true;
  }
  bool boolean(bool &Out) {
    Out = word("True");
    return Out || word("False");
  }
  bool number(int64_t &Out) {
    skipSpace();
    const char *Start = At;
    Out = 0;
    while (At < End && *At >= '0' && *At <= '9')
      if (__builtin_mul_overflow(Out, 10, &Out) ||
          __builtin_add_overflow(Out, *At++ - '0', &Out))
        return false;
    bool Any = At != Start;
    if (At < End && *At == 'L') // written by Python 2
      ++At;
    return Any;
  }
  bool tuple(Sizes &Out) {
    if (!take('('))
      return false;
    while (!take(')')) {
      int64_t Size;
      if (Out.size() == 64 || !number(Size))
        return false;
      Out.push_back(Size);
      if (!take(',') && !peek(')'))
        return false;
    }
    return true;
  }

  const char *At;
  const char *End;
};

pplan_status *badFile(const std::string &Name, const std::string &What) {
  return makeError(PPLAN_BAD_INPUT, nullptr, -1, "'%s' is no usable .npy file: %s",
                   Name.c_str(), What.c_str());
}

/// Finds where the dictionary is.
pplan_status *locate(const char *Data, uint64_t Size, const std::string &Name,
                     uint64_t &Begin, uint64_t &Length) {
  auto byte = [&](uint64_t I) {
    return static_cast<uint64_t>(static_cast<unsigned char>(Data[I]));
  };
  if (Size < 10)
    return badFile(Name, format("it has %llu bytes, a header has at least 10",
                                static_cast<unsigned long long>(Size)));
  if (std::memcmp(Data, "\x93NUMPY", 6) != 0)
    return badFile(Name, "it does not begin with \\x93NUMPY; write it with "
                         "numpy.save");
  uint64_t Major = byte(6);
  if (Major < 1 || Major > 3)
    return badFile(Name, format("format version %llu.%llu, expected 1 to 3",
                                static_cast<unsigned long long>(Major),
                                static_cast<unsigned long long>(byte(7))));
  Begin = Major == 1 ? 10 : 12;
  if (Size < Begin)
    return badFile(Name, "it ends within the header");
  Length = byte(8) | byte(9) << 8;
  if (Major > 1)
    Length |= byte(10) << 16 | byte(11) << 24;
  if (Length > Size - Begin)
    return badFile(Name,
                   format("it ends within the header: the header has %llu bytes, "
                          "the file %llu",
                          static_cast<unsigned long long>(Begin + Length),
                          static_cast<unsigned long long>(Size)));
  return nullptr;
}

pplan_status *findDtype(const std::string &Name, const std::string &Descr,
                        int32_t &Dtype) {
  for (const DtypeName &Known : DtypeNames)
    if (Descr == Known.Descr) {
      Dtype = Known.Dtype;
      return nullptr;
    }
  if (!Descr.empty() && Descr[0] == '>')
    return badFile(Name, format("dtype '%s' is big-endian; convert with "
                                "array.astype(array.dtype.newbyteorder('<'))",
                                Descr.c_str()));
  return badFile(Name, format("dtype '%s' is not supported; expected one of <f4, "
                              "<f8, <f2, |V2 (bf16), |b1, |i1, |u1, <i4, <i8",
                              Descr.c_str()));
}

} // namespace

pplan_status *parseNpy(const char *Data, uint64_t Size, const std::string &Name,
                       NpyHeader &Header) {
  uint64_t Begin = 0, Length = 0;
  if (pplan_status *Error = locate(Data, Size, Name, Begin, Length))
    return Error;
  std::string Descr;
  bool Fortran = false;
  NpyHeader Result;
  if (!Parser(Data + Begin, Data + Begin + Length)
           .dictionary(Descr, Fortran, Result.Shape))
    return badFile(Name, "its header is not a dictionary of 'descr', "
                         "'fortran_order' and 'shape'");
  if (pplan_status *Error = findDtype(Name, Descr, Result.Dtype))
    return Error;
  if (Fortran && Result.Shape.size() > 1)
    return badFile(Name, "it is in Fortran order; write it with numpy.save(..., "
                         "numpy.ascontiguousarray(array))");
  uint64_t Bytes = pplan_rt_dtype_size(Result.Dtype);
  for (int64_t Dim : Result.Shape)
    if (__builtin_mul_overflow(Bytes, static_cast<uint64_t>(Dim), &Bytes))
      return badFile(Name, "its shape has more bytes than can be addressed");
  Result.DataOffset = Begin + Length;
  if (Bytes > Size - Result.DataOffset)
    return badFile(Name, format("its shape %s needs %llu bytes of data, it has "
                                "%llu",
                                shapeText(Result.Shape).c_str(),
                                static_cast<unsigned long long>(Bytes),
                                static_cast<unsigned long long>(
                                    Size - Result.DataOffset)));
  Header = std::move(Result);
  return nullptr;
}

std::string npyHeader(int32_t Dtype, const Sizes &Shape) {
  const char *Descr = "";
  for (const DtypeName &Known : DtypeNames)
    if (Dtype == Known.Dtype) {
      Descr = Known.Descr;
      break;
    }
  std::string Dictionary =
      format("{'descr': '%s', 'fortran_order': False, 'shape': (", Descr);
  for (int64_t Size : Shape)
    Dictionary += format("%lld, ", static_cast<long long>(Size));
  Dictionary += "), }";
  // A shape of one dimension keeps its comma; of several, none is needed.
  if (Shape.size() > 1)
    Dictionary.erase(Dictionary.size() - 6, 2);
  else if (Shape.size() == 1)
    Dictionary.erase(Dictionary.size() - 5, 1);
  bool Long = Dictionary.size() + 1 + 10 + 63 > 65535;
  size_t Prefix = Long ? 12 : 10;
  size_t Total = (Prefix + Dictionary.size() + 1 + 63) / 64 * 64;
  Dictionary.append(Total - Prefix - Dictionary.size() - 1, ' ');
  Dictionary += '\n';
  std::string Header("\x93NUMPY", 6);
  Header += static_cast<char>(Long ? 2 : 1);
  Header += '\0';
  for (size_t I = 0; I < (Long ? 4u : 2u); ++I)
    Header += static_cast<char>(Dictionary.size() >> (8 * I) & 0xff);
  return Header + Dictionary;
}

} // namespace pplan::rt
