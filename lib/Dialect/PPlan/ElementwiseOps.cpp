//===- ElementwiseOps.cpp - Text form and folds of elementwise ops --------===//
//
// What ODS cannot say about elementwise operations.
//
//===----------------------------------------------------------------------===//
#include "pplan/Dialect/PPlan/PPlan.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace pplan;

void CompareOp::build(OpBuilder &builder, OperationState &state,
                      Predicate predicate, Value lhs, Value rhs) {
  auto type = RankedTensorType::get(getTensorType(lhs).getShape(),
                                    builder.getI1Type());
  build(builder, state, type, predicate, lhs, rhs);
}

ParseResult CompareOp::parse(OpAsmParser &parser, OperationState &result) {
  StringRef keyword;
  OpAsmParser::UnresolvedOperand lhs, rhs;
  RankedTensorType type;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<Predicate> predicate = symbolizePredicate(keyword);
  if (!predicate)
    return parser.emitError(loc, "unknown predicate '")
           << keyword << "'; known are eq, ne, lt, le, gt and ge";
  if (parser.parseOperand(lhs) || parser.parseComma() ||
      parser.parseOperand(rhs) ||
      parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonType(type) ||
      parser.resolveOperands({lhs, rhs}, type, result.operands))
    return failure();
  result.addAttribute("predicate",
                      PredicateAttr::get(parser.getContext(), *predicate));
  result.addTypes(
      RankedTensorType::get(type.getShape(), parser.getBuilder().getI1Type()));
  return success();
}

void CompareOp::print(OpAsmPrinter &printer) {
  printer << ' ' << stringifyPredicate(getPredicate()) << ' ' << getLhs()
          << ", " << getRhs();
  printer.printOptionalAttrDict((*this)->getAttrs(), {"predicate"});
  printer << " : " << getLhs().getType();
}

ParseResult SelectOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  RankedTensorType type;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperandList(operands, 3) ||
      parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonType(type))
    return failure();
  auto condition =
      RankedTensorType::get(type.getShape(), parser.getBuilder().getI1Type());
  result.addTypes(type);
  return parser.resolveOperands(operands, {condition, type, type}, loc,
                                result.operands);
}

void SelectOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getOperands();
  printer.printOptionalAttrDict((*this)->getAttrs());
  printer << " : " << getType();
}

OpFoldResult ConvertOp::fold(FoldAdaptor) {
  // A fold must not lose a sharding.
  return getInput().getType() == getType() && !(*this)->hasAttr(kShardingsAttr)
             ? getInput()
             : OpFoldResult();
}
