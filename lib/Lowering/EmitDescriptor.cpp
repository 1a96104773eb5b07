//===- EmitDescriptor.cpp - pplan-emit-descriptor -------------------------===//
//
// Writes the struct `pplan_program` of pplan_rt/program.h and the function that
// it points to. The members are in the order of the C structs.
//
//===----------------------------------------------------------------------===//
#include "Globals.h"
#include "pplan/Lowering/Passes.h"
#include "pplan/Memory/RT.h"

namespace pplan {
#define GEN_PASS_DEF_EMITDESCRIPTORPASS
#include "pplan/Lowering/Passes.h.inc"
} // namespace pplan

using namespace mlir;
using namespace pplan;

/// The ABI that the descriptor and the calls follow: PPLAN_RT_ABI_VERSION.
static constexpr int kAbiVersion = 2;
/// Kernels rely on no alignment beyond that of an element, so parameters can be
/// used where they lie in a mapped file.
static constexpr int64_t kParamAlignment = 0;
static constexpr StringLiteral kEntryName = "pplan_entry";
static constexpr StringLiteral kDescriptorName = "pplan_rt_program";

/// `pplan_tensor`.
static Datum describeTensor(GlobalBuilder &globals, DictionaryAttr value) {
  auto global = cast<RankedTensorType>(
      value.getAs<TypeAttr>("type").getValue());
  auto local =
      cast<RankedTensorType>(value.getAs<TypeAttr>("local").getValue());
  auto axes = value.getAs<ArrayAttr>("axes");
  std::vector<Datum> dims;
  for (int64_t i = 0; i < global.getRank(); ++i) {
    std::vector<Datum> numbers;
    for (int32_t axis : cast<DenseI32ArrayAttr>(axes[i]).asArrayRef())
      numbers.push_back(Datum::i32(axis));
    size_t numAxes = numbers.size();
    FlatSymbolRefAttr list =
        globals.getConstant("pplan.axes", Datum::array(std::move(numbers)));
    dims.push_back(Datum::structure(
        {Datum::i64(global.getDimSize(i)), Datum::i64(local.getDimSize(i)),
         Datum::pointer(list), Datum::i32(numAxes), Datum::i32(0)}));
  }
  FlatSymbolRefAttr dimList =
      globals.getConstant("pplan.dims", Datum::array(std::move(dims)));
  int64_t least = std::numeric_limits<int64_t>::min();
  int64_t greatest = std::numeric_limits<int64_t>::max();
  if (auto range = value.getAs<DenseI64ArrayAttr>("range"))
    least = range[0], greatest = range[1];
  return Datum::structure(
      {Datum::pointer(globals.getString(
           value.getAs<StringAttr>("name").getValue())),
       Datum::pointer(dimList), Datum::i32(global.getRank()),
       Datum::i32(rt::getDType(global.getElementType())),
       Datum::i64(least), Datum::i64(greatest)});
}

/// `pplan_param`; without data its members are null.
static Datum describeParam(GlobalBuilder &globals, DictionaryAttr value) {
  auto data = value.getAs<DataAttr>("data");
  return Datum::structure(
      {describeTensor(globals, value),
       Datum::pointer(data ? globals.getString(data.getPath())
                           : FlatSymbolRefAttr()),
       Datum::pointer({}), Datum::i64(data ? data.getOffset() : 0),
       Datum::i64(data ? data.getSize() : 0)});
}

/// `pplan_state`.
static Datum describeState(GlobalBuilder &globals, DictionaryAttr value) {
  FlatSymbolRefAttr init;
  if (Attribute number = value.get("init")) {
    APInt bits = isa<FloatAttr>(number)
                     ? cast<FloatAttr>(number).getValue().bitcastToAPInt()
                     : cast<IntegerAttr>(number).getValue();
    // Its low bytes are the element: targets are little-endian.
    init = globals.getConstant(
        "pplan.init",
        Datum::array({Datum::i64(
            static_cast<int64_t>(bits.zextOrTrunc(64).getZExtValue()))}));
  }
  return Datum::structure(
      {describeParam(globals, value), Datum::pointer(init)});
}

namespace {
struct EmitDescriptorPass
    : public ::pplan::impl::EmitDescriptorPassBase<EmitDescriptorPass> {
  void runOnOperation() override;
  LogicalResult checkLowered();
  void emitEntry(LLVM::LLVMFuncOp program, GlobalBuilder &globals);
  void emitProgram(LLVM::LLVMFuncOp program, GlobalBuilder &globals);
};
} // namespace

LogicalResult EmitDescriptorPass::checkLowered() {
  WalkResult result = getOperation().walk([&](Operation *op) {
    if (op == getOperation() || isa_and_nonnull<LLVM::LLVMDialect>(op->getDialect()))
      return WalkResult::advance();
    op->emitOpError("is not of the LLVM dialect after lowering");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Loads pointer number `index` of an array of pointers.
static Value loadPointer(OpBuilder &builder, Location loc, Value array,
                         int32_t index) {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Value slot = LLVM::GEPOp::create(builder, loc, pointer, pointer, array,
                                   ArrayRef<LLVM::GEPArg>{index});
  return LLVM::LoadOp::create(builder, loc, pointer, slot);
}

void EmitDescriptorPass::emitEntry(LLVM::LLVMFuncOp program,
                                   GlobalBuilder &globals) {
  OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
  Location loc = program.getLoc();
  Type pointer = globals.getPointerType();
  auto type = LLVM::LLVMFunctionType::get(
      pointer, SmallVector<Type>(6, pointer));
  auto entry = LLVM::LLVMFuncOp::create(builder, loc, kEntryName, type,
                                        LLVM::Linkage::Internal);
  Block *block = entry.addEntryBlock(builder);
  builder.setInsertionPointToStart(block);
  // (ctx, arena, params, states, inputs, outputs)
  struct Source {
    Value array;
    int32_t next = 0;
  };
  llvm::StringMap<Source> sources;
  sources["param"].array = block->getArgument(2);
  sources["state"].array = block->getArgument(3);
  sources["input"].array = block->getArgument(4);
  Value outputs = block->getArgument(5);
  int32_t numOutputs = 0;
  SmallVector<Value> operands{block->getArgument(0), block->getArgument(1)};
  for (auto value : program->getAttrOfType<ArrayAttr>(rt::kArgumentsAttr)
                        .getAsRange<DictionaryAttr>()) {
    Source &source = sources[value.getAs<StringAttr>("kind").getValue()];
    operands.push_back(
        loadPointer(builder, loc, source.array, source.next++));
  }
  for (size_t i = 0;
       i < program->getAttrOfType<ArrayAttr>(rt::kResultsAttr).size(); ++i)
    operands.push_back(loadPointer(builder, loc, outputs, numOutputs++));
  auto call = LLVM::CallOp::create(builder, loc, program, operands);
  LLVM::ReturnOp::create(builder, loc, call.getResult());
}

void EmitDescriptorPass::emitProgram(LLVM::LLVMFuncOp program,
                                     GlobalBuilder &globals) {
  std::vector<Datum> axes, inputs, outputs, params, states;
  int64_t numRanks = 1;
  auto mesh = program->getAttrOfType<MeshAttr>(rt::kMeshAttr);
  for (MeshAxisAttr axis : mesh.getAxes()) {
    numRanks *= axis.getSize();
    axes.push_back(Datum::structure(
        {Datum::pointer(globals.getString(axis.getName())),
         Datum::i64(axis.getSize())}));
  }
  for (auto value : program->getAttrOfType<ArrayAttr>(rt::kArgumentsAttr)
                        .getAsRange<DictionaryAttr>()) {
    StringRef kind = value.getAs<StringAttr>("kind").getValue();
    if (kind == "param")
      params.push_back(describeParam(globals, value));
    else if (kind == "state")
      states.push_back(describeState(globals, value));
    else
      inputs.push_back(describeTensor(globals, value));
  }
  for (auto value : program->getAttrOfType<ArrayAttr>(rt::kResultsAttr)
                        .getAsRange<DictionaryAttr>())
    outputs.push_back(describeTensor(globals, value));

  int64_t arena = 0;
  if (auto memory =
          getOperation()->getAttrOfType<DictionaryAttr>(rt::kMemoryAttr))
    if (auto bytes = memory.getAs<IntegerAttr>("arena"))
      arena = bytes.getInt();
  auto count = [](const std::vector<Datum> &list) {
    return Datum::i32(list.size());
  };
  auto list = [&](StringRef prefix, std::vector<Datum> &values) {
    return Datum::pointer(
        globals.getConstant(prefix, Datum::array(std::move(values))));
  };
  StringRef name = getOperation().getSymName().value_or("program");
  Datum model = Datum::pointer({});
  if (auto file = dyn_cast<FileLineColLoc>(getOperation().getLoc()))
    model = Datum::pointer(globals.getString(file.getFilename().getValue()));
  std::vector<Datum> members = {
      Datum::i32(kAbiVersion), Datum::i32(numRanks),
      Datum::pointer(globals.getString(name)), count(axes), count(inputs),
      count(outputs), count(params), count(states), Datum::i32(0)};
  members.push_back(list("pplan.mesh", axes));
  members.push_back(list("pplan.inputs", inputs));
  members.push_back(list("pplan.outputs", outputs));
  members.push_back(list("pplan.params", params));
  members.push_back(list("pplan.states", states));
  members.push_back(Datum::i64(arena));
  members.push_back(Datum::i64(kParamAlignment));
  members.push_back(
      Datum::pointer(FlatSymbolRefAttr::get(&getContext(), kEntryName)));
  members.push_back(model);
  members.push_back(Datum::array(
      std::vector<Datum>(4, Datum::pointer({}))));
  globals.defineExported(kDescriptorName, Datum::structure(std::move(members)));
}

void EmitDescriptorPass::runOnOperation() {
  if (failed(checkLowered()))
    return signalPassFailure();
  LLVM::LLVMFuncOp program;
  for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>())
    if (function->hasAttr(rt::kArgumentsAttr))
      program = function;
  if (!program) {
    getOperation().emitError("has no program to describe; run the memory "
                             "phase first");
    return signalPassFailure();
  }
  size_t numValues =
      2 + program->getAttrOfType<ArrayAttr>(rt::kArgumentsAttr).size() +
      program->getAttrOfType<ArrayAttr>(rt::kResultsAttr).size();
  auto pointer = LLVM::LLVMPointerType::get(&getContext());
  auto expected = LLVM::LLVMFunctionType::get(
      pointer, SmallVector<Type>(numValues, pointer));
  if (program.getFunctionType() != expected) {
    program.emitOpError("has the type ")
        << program.getFunctionType() << "; the program's is " << expected;
    return signalPassFailure();
  }
  GlobalBuilder globals(getOperation());
  emitEntry(program, globals);
  emitProgram(program, globals);
  for (StringRef name : {StringRef(rt::kArgumentsAttr),
                         StringRef(rt::kResultsAttr), StringRef(rt::kMeshAttr)})
    program->removeAttr(name);
}
