//===- Labelled.cpp - Tensors whose dimensions have letters ---------------===//
//
// Reordering of dimensions by letters.
//
//===----------------------------------------------------------------------===//
#include "Labelled.h"

using namespace mlir;
using namespace pplan;

void memory::permuteTo(Emitter &e, Labelled &operand, StringRef wanted) {
  if (operand.letters == wanted)
    return;
  SmallVector<int64_t> permutation;
  for (char letter : wanted)
    permutation.push_back(operand.letters.find(letter));
  operand.value = e.transpose(operand.value, permutation);
  operand.letters = wanted.str();
}

std::string memory::filterLetters(StringRef from,
                                  function_ref<bool(char)> keep) {
  std::string letters;
  for (char letter : from)
    if (keep(letter))
      letters.push_back(letter);
  return letters;
}
