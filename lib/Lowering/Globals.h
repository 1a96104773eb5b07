//===- Globals.h - Constants of the program in the LLVM dialect -*- C++ -*-===//
//
// Builds C data (strings, arrays, structs with pointers to each other) as
// internal constants. Equal strings are made once.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_LOWERING_GLOBALS_H
#define PPLAN_LIB_LOWERING_GLOBALS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include <variant>

namespace pplan {

/// One member of a constant struct or array.
struct Datum {
  enum class Kind { I32, I64, F64, Pointer, Struct } kind;
  int64_t integer = 0;
  double real = 0;
  /// The symbol that a pointer points to; null is the null pointer.
  mlir::FlatSymbolRefAttr symbol;
  /// Members of a struct or array.
  std::vector<Datum> members;
  bool isArray = false;

  static Datum i32(int64_t value) { return {Kind::I32, value, 0, {}, {}}; }
  static Datum i64(int64_t value) { return {Kind::I64, value, 0, {}, {}}; }
  static Datum f64(double value) { return {Kind::F64, 0, value, {}, {}}; }
  static Datum pointer(mlir::FlatSymbolRefAttr to) {
    return {Kind::Pointer, 0, 0, to, {}};
  }
  static Datum structure(std::vector<Datum> members) {
    return {Kind::Struct, 0, 0, {}, std::move(members)};
  }
  /// Members of one type.
  static Datum array(std::vector<Datum> members) {
    Datum datum{Kind::Struct, 0, 0, {}, std::move(members)};
    datum.isArray = true;
    return datum;
  }
};

/// Adds constants to a module.
class GlobalBuilder {
public:
  explicit GlobalBuilder(mlir::ModuleOp module);

  /// A zero-terminated string.
  mlir::FlatSymbolRefAttr getString(llvm::StringRef text);
  /// An internal constant; its name begins with `prefix`. An empty array is the
  /// null pointer.
  mlir::FlatSymbolRefAttr getConstant(llvm::StringRef prefix,
                                      const Datum &value);
  /// An exported constant called `name`.
  void defineExported(llvm::StringRef name, const Datum &value);
  /// The declaration of a function of the runtime, made when first asked for.
  mlir::LLVM::LLVMFuncOp getFunction(llvm::StringRef name, mlir::Type result,
                                     llvm::ArrayRef<mlir::Type> arguments);

  mlir::LLVM::LLVMPointerType getPointerType() const { return pointerType; }

private:
  mlir::Type getType(const Datum &value) const;
  mlir::Value emit(mlir::OpBuilder &builder, mlir::Location loc,
                   const Datum &value) const;
  void define(llvm::StringRef name, const Datum &value,
              mlir::LLVM::Linkage linkage);
  std::string makeName(llvm::StringRef prefix);

  mlir::ModuleOp module;
  mlir::LLVM::LLVMPointerType pointerType;
  llvm::StringMap<mlir::FlatSymbolRefAttr> strings;
  unsigned counter = 0;
};

} // namespace pplan

#endif // PPLAN_LIB_LOWERING_GLOBALS_H
