//===- Globals.cpp - Constants of the program in the LLVM dialect ---------===//
//
// Writes initialisers as regions of insertvalue and addressof.
//
//===----------------------------------------------------------------------===//
#include "Globals.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace pplan;

GlobalBuilder::GlobalBuilder(ModuleOp module)
    : module(module),
      pointerType(LLVM::LLVMPointerType::get(module.getContext())) {}

std::string GlobalBuilder::makeName(StringRef prefix) {
  std::string name;
  do
    name = (prefix + "." + Twine(counter++)).str();
  while (module.lookupSymbol(name));
  return name;
}

FlatSymbolRefAttr GlobalBuilder::getString(StringRef text) {
  FlatSymbolRefAttr &symbol = strings[text];
  if (symbol)
    return symbol;
  std::string name = makeName("pplan.str");
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  std::string terminated = text.str();
  terminated.push_back('\0');
  auto type =
      LLVM::LLVMArrayType::get(builder.getI8Type(), terminated.size());
  LLVM::GlobalOp::create(builder, module.getLoc(), type, /*isConstant=*/true,
                         LLVM::Linkage::Internal, name,
                         builder.getStringAttr(terminated));
  symbol = FlatSymbolRefAttr::get(builder.getContext(), name);
  return symbol;
}

Type GlobalBuilder::getType(const Datum &value) const {
  Builder builder(pointerType.getContext());
  switch (value.kind) {
  case Datum::Kind::I32:
    return builder.getI32Type();
  case Datum::Kind::I64:
    return builder.getI64Type();
  case Datum::Kind::F64:
    return builder.getF64Type();
  case Datum::Kind::Pointer:
    return pointerType;
  case Datum::Kind::Struct:
    break;
  }
  if (value.isArray)
    return LLVM::LLVMArrayType::get(getType(value.members.front()),
                                    value.members.size());
  SmallVector<Type> types;
  for (const Datum &member : value.members)
    types.push_back(getType(member));
  return LLVM::LLVMStructType::getLiteral(pointerType.getContext(), types);
}

Value GlobalBuilder::emit(OpBuilder &builder, Location loc,
                          const Datum &value) const {
  Type type = getType(value);
  switch (value.kind) {
  case Datum::Kind::I32:
  case Datum::Kind::I64:
    return LLVM::ConstantOp::create(
        builder, loc, type, builder.getIntegerAttr(type, value.integer));
  case Datum::Kind::F64:
    return LLVM::ConstantOp::create(builder, loc, type,
                                    builder.getFloatAttr(type, value.real));
  case Datum::Kind::Pointer:
    if (!value.symbol)
      return LLVM::ZeroOp::create(builder, loc, type);
    return LLVM::AddressOfOp::create(builder, loc, pointerType, value.symbol);
  case Datum::Kind::Struct:
    break;
  }
  Value result = LLVM::UndefOp::create(builder, loc, type);
  for (auto [i, member] : llvm::enumerate(value.members))
    result = LLVM::InsertValueOp::create(builder, loc, result,
                                         emit(builder, loc, member), i);
  return result;
}

void GlobalBuilder::define(StringRef name, const Datum &value,
                           LLVM::Linkage linkage) {
  // After the symbols that it refers to.
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Location loc = module.getLoc();
  auto global = LLVM::GlobalOp::create(builder, loc, getType(value),
                                       /*isConstant=*/true, linkage, name,
                                       /*value=*/Attribute());
  Block *block = builder.createBlock(&global.getInitializerRegion());
  builder.setInsertionPointToStart(block);
  LLVM::ReturnOp::create(builder, loc, emit(builder, loc, value));
}

FlatSymbolRefAttr GlobalBuilder::getConstant(StringRef prefix,
                                             const Datum &value) {
  if (value.isArray && value.members.empty())
    return {};
  std::string name = makeName(prefix);
  define(name, value, LLVM::Linkage::Internal);
  return FlatSymbolRefAttr::get(pointerType.getContext(), name);
}

void GlobalBuilder::defineExported(StringRef name, const Datum &value) {
  define(name, value, LLVM::Linkage::External);
}

LLVM::LLVMFuncOp GlobalBuilder::getFunction(StringRef name, Type result,
                                            ArrayRef<Type> arguments) {
  if (auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return function;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  return LLVM::LLVMFuncOp::create(
      builder, module.getLoc(), name,
      LLVM::LLVMFunctionType::get(result, arguments));
}
