//===- ComputeStates.cpp - States of computation --------------------------===//
//
// An operation is checked by rebuilding it on global types and asking its
// sharding rule. Three patterns depend on the device's place and are matched as
// a whole: a counted index, a value kept on the first device, and a lookup in a
// split table.
//
//===----------------------------------------------------------------------===//
#include "EmitReshard.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "pplan/Partition/DeviceStates.h"
#include "pplan/Partition/Neutral.h"

using namespace mlir;
using namespace pplan;

using MaybeState = FailureOr<DeviceState>;

namespace {
/// The operation on global types, outside of any function.
class GlobalOp {
public:
  GlobalOp(Operation *op, ArrayRef<DeviceState> operands,
           ArrayRef<DeviceState> results) {
    OperationState state(op->getLoc(), op->getName());
    for (const DeviceState &operand : operands)
      state.addOperands(block.addArgument(operand.globalType, op->getLoc()));
    for (const DeviceState &result : results)
      state.addTypes(result.globalType);
    for (NamedAttribute attr : op->getAttrs())
      if (attr.getName() != kStateAttr)
        state.attributes.append(attr);
    global = Operation::create(state);
    // The one attribute that is a size and may be split.
    if (auto scatter = dyn_cast<ScatterAddOp>(global);
        scatter && scatter.getDim() < static_cast<uint64_t>(results[0].globalType.getRank()))
      scatter.setSize(results[0].globalType.getDimSize(scatter.getDim()));
  }
  ~GlobalOp() { global->destroy(); }
  Operation *get() const { return global; }

  /// The verifier's complaint, if it has one.
  std::optional<std::string> check() const {
    std::string message;
    ScopedDiagnosticHandler handler(global->getContext(),
                                    [&](Diagnostic &diag) {
                                      message += diag.str();
                                      return success();
                                    });
    if (succeeded(verify(global)))
      return std::nullopt;
    return message;
  }

private:
  Block block;
  Operation *global;
};
} // namespace

/// The element that a value has everywhere, through broadcasts.
static Attribute getSplat(Value value) {
  while (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getInput();
  auto constant = value.getDefiningOp<ConstantOp>();
  auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue())
                        : SplatElementsAttr();
  return splat ? splat.getSplatValue<Attribute>() : Attribute();
}

static bool isInteger(Value value, int64_t expected) {
  auto attr = dyn_cast_or_null<IntegerAttr>(getSplat(value));
  return attr && attr.getValue().getSExtValue() == expected;
}

/// The offset that a value is, through broadcasts and conversions.
static spmd::ShardOffsetOp getOffset(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<BroadcastOp, ConvertOp>(op))
      return dyn_cast<spmd::ShardOffsetOp>(op);
    value = op->getOperand(0);
  }
  return nullptr;
}

/// Global type of the result where it follows from the operands'.
static RankedTensorType inferType(Operation *op,
                                  ArrayRef<DeviceState> operands) {
  auto local = getTensorType(op->getResult(0));
  auto withElement = [&](ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, local.getElementType());
  };
  if (auto contract = dyn_cast<ContractOp>(op)) {
    SmallVector<int64_t> shape;
    for (char letter : contract.getResultLetters()) {
      size_t place = contract.getLhsLetters().find(letter);
      shape.push_back(place != StringRef::npos
                          ? operands[0].globalType.getDimSize(place)
                          : operands[1].globalType.getDimSize(
                                contract.getRhsLetters().find(letter)));
    }
    return withElement(shape);
  }
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    SmallVector<int64_t> shape;
    for (int64_t dim : transpose.getPermutation())
      shape.push_back(operands[0].globalType.getDimSize(dim));
    return withElement(shape);
  }
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    SmallVector<int64_t> shape;
    for (auto [dim, size] : llvm::enumerate(operands[0].globalType.getShape()))
      if (!llvm::is_contained(reduce.getDims(), static_cast<int64_t>(dim)))
        shape.push_back(size);
    return withElement(shape);
  }
  if (op->hasTrait<OpTrait::SameOperandsAndResultType>() ||
      op->hasTrait<OpTrait::SameOperandsAndResultShape>() ||
      isa<SelectOp, SoftmaxOp, LayerNormOp, RMSNormOp, CumSumOp>(op))
    return withElement(operands[0].globalType.getShape());
  if (llvm::all_of(operands, [](const DeviceState &operand) {
        return operand.sharding.isReplicated();
      }))
    return local;
  return nullptr;
}

/// What the rule makes of the operands: natural sharding of the only result.
static std::optional<TensorSharding>
inferSharding(const ShardingRule &rule, ArrayRef<DeviceState> operands,
              const DeviceMesh &mesh) {
  FactorAxes axes(rule.factors.size());
  AxisList passed;
  for (auto [index, operand] : llvm::enumerate(operands)) {
    auto own =
        inferFactorAxes(rule, rule.operands[index], operand.sharding, mesh);
    if (!own)
      return std::nullopt;
    for (auto [id, list] : llvm::enumerate(*own))
      if (!list.empty())
        axes[id] = list;
    llvm::append_range(passed, operand.sharding.partial);
  }
  auto result = projectResult(rule, 0, axes, mesh);
  if (result) {
    llvm::append_range(result->partial, passed);
    llvm::sort(result->partial);
  }
  return result;
}

/// The dimension of an operand that would let padding into a reduction, or -1.
static int findUnsafeDim(const ShardingRule &rule, const TensorFactors &dims,
                         const FactorAxes &axes, const DeviceState &operand,
                         bool isRangeChecked, const DeviceMesh &mesh) {
  for (auto [dim, factors] : llvm::enumerate(dims))
    for (int id : factors) {
      const Factor &factor = rule.factors[id];
      if (!rule.isReduced(id) || isEvenlySplit(factor.size, axes[id], mesh) ||
          (isRangeChecked && isFlat(factor.size, axes[id], mesh)))
        continue;
      if (operand.fills[dim] !=
          getNeutralElement(factor.combiner,
                            operand.globalType.getElementType()))
        return dim;
    }
  return -1;
}

LogicalResult DeviceStates::checkAgainstRule(Operation *op,
                                             ArrayRef<DeviceState> operands,
                                             MutableArrayRef<DeviceState> results,
                                             bool isClaimed,
                                             bool isRangeChecked) {
  GlobalOp global(op, operands, results);
  if (auto message = global.check())
    return op->emitOpError("is no valid operation on its global types: ")
           << *message;
  ShardingRule rule =
      cast<ShardableOpInterface>(global.get()).getShardingRule();
  std::string why = "an operand is split inside a factor";
  std::optional<FactorAxes> axes;
  std::optional<TensorSharding> natural;
  if (!isClaimed && (natural = inferSharding(rule, operands, mesh)))
    results.front().sharding = *natural;
  if (isClaimed || natural) {
    auto getShardings = [](ArrayRef<DeviceState> states) {
      return llvm::map_to_vector(
          states, [](const DeviceState &state) { return state.sharding; });
    };
    axes = getCompatibleFactorAxes(global.get(), rule, getShardings(operands),
                                   getShardings(results), mesh, &why);
  }
  if (!axes) {
    auto diag = op->emitOpError("runs on parts that do not fit together: ")
                << why;
    for (auto [index, operand] : llvm::enumerate(operands))
      diag.attachNote(op->getLoc())
          << "operand " << index << " is " << describe(operand, meshAttr);
    return failure();
  }
  for (auto [index, operand] : llvm::enumerate(operands)) {
    if (!readsPadding(op, index))
      continue;
    int dim = findUnsafeDim(rule, rule.operands[index], *axes, operand,
                            isRangeChecked, mesh);
    if (dim >= 0)
      return op->emitOpError("reduces over the padding in dimension ")
             << dim << " of operand " << index << ", "
             << describe(operand, meshAttr)
             << "; fill it with spmd.mask_padding";
  }
  for (DeviceState &result : results)
    result.fills.assign(result.globalType.getRank(), Attribute());
  return success();
}

MaybeState DeviceStates::checkAgainstRule(Operation *op,
                                          ArrayRef<DeviceState> operands,
                                          std::optional<DeviceState> claimed,
                                          bool isRangeChecked) {
  DeviceState result;
  if (claimed) {
    result = *claimed;
  } else {
    result.kind = DeviceState::Part;
    result.globalType = inferType(op, operands);
  }
  if (!result.globalType)
    return op->emitOpError("needs spmd.state: the global shape of its result "
                           "does not follow from its operands");
  if (failed(checkAgainstRule(op, operands, MutableArrayRef(result),
                              claimed.has_value(), isRangeChecked)))
    return failure();
  return result;
}

LogicalResult DeviceStates::visitMultiple(Operation *op) {
  auto claims = op->getAttrOfType<ArrayAttr>(kStateAttr);
  if (!claims || claims.size() != op->getNumResults())
    return op->emitOpError("has ")
           << op->getNumResults()
           << " results and needs an spmd.state with one entry for each";
  SmallVector<DeviceState, 3> operands, results;
  for (auto [claim, result] : llvm::zip(claims, op->getResults())) {
    MaybeState state = readState(claim, op, result.getType());
    if (failed(state))
      return failure();
    results.push_back(std::move(*state));
  }
  for (Value operand : op->getOperands()) {
    operands.push_back(resolve(operand));
    if (operands.back().kind == DeviceState::Opaque)
      return op->emitOpError("computes with a value that depends on the device "
                             "in an unknown way");
  }
  if (failed(checkAgainstRule(op, operands, results, true, false)))
    return failure();
  for (auto [state, result] : llvm::zip(results, op->getResults()))
    states[result] = std::move(state);
  return success();
}

MaybeState DeviceStates::visitCompute(Operation *op) {
  Type localType = op->getResultTypes()[0];
  std::optional<DeviceState> claimed;
  if (Attribute attr = op->getAttr(kStateAttr)) {
    MaybeState state = readState(attr, op, localType);
    if (failed(state))
      return failure();
    claimed = *state;
  }
  DeviceState whole;
  whole.kind = DeviceState::Uniform;
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    if (isa<SplatElementsAttr>(constant.getValue()))
      return whole;
    states[op->getResult(0)] = whole;
    whole = resolve(op->getResult(0));
    return whole;
  }
  if (auto iota = dyn_cast<IotaOp>(op)) {
    if (claimed && (!claimed->sharding.dims[iota.getDim()].empty() ||
                    !claimed->sharding.partial.empty()))
      return op->emitOpError("counts from 0 on every device, but claims to be ")
             << describe(*claimed, meshAttr);
    states[op->getResult(0)] = whole;
    return claimed ? *claimed : resolve(op->getResult(0));
  }
  // Uniform operands of an elementwise operation are parts like the others.
  bool isElementwise = op->hasTrait<OpTrait::SameOperandsAndResultType>() ||
                       op->hasTrait<OpTrait::SameOperandsAndResultShape>();
  std::optional<DeviceState> like = claimed;
  for (Value operand : op->getOperands())
    if (!like && states[operand].kind == DeviceState::Part)
      like = states[operand];
  SmallVector<DeviceState, 4> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(resolve(operand));
    if (!isElementwise || !like || states[operand].kind != DeviceState::Uniform)
      continue;
    operands.back().globalType = RankedTensorType::get(
        like->globalType.getShape(), getTensorType(operand).getElementType());
    operands.back().sharding = like->sharding;
    operands.back().sharding.partial.clear();
  }
  if (auto gather = dyn_cast<GatherOp>(op))
    if (!operands[0].sharding.dims[gather.getDim()].empty())
      return op->emitOpError("looks up a split table, ")
             << describe(operands[0], meshAttr)
             << ", without checking the range of the indices";
  return checkAgainstRule(op, operands, claimed, false);
}

MaybeState DeviceStates::visitOpaque(Operation *op) {
  if (auto add = dyn_cast<AddOp>(op)) {
    Value lhs = add.getLhs(), rhs = add.getRhs();
    if (getOffset(lhs))
      std::swap(lhs, rhs);
    auto iota = lhs.getDefiningOp<IotaOp>();
    spmd::ShardOffsetOp offset = getOffset(rhs);
    Attribute claim = op->getAttr(kStateAttr);
    if (iota && offset && claim) {
      MaybeState state = readState(claim, op, op->getResultTypes()[0]);
      if (failed(state))
        return failure();
      int64_t dim = iota.getDim();
      if (state->sharding.partial.empty() &&
          state->sharding.dims[dim] == getAxes(offset.getAxes()) &&
          state->globalType.getDimSize(dim) ==
              static_cast<int64_t>(offset.getSize()))
        return state;
      return op->emitOpError("counts from the offset of a part of ")
             << offset.getSize() << " over " << offset.getAxes()
             << ", but claims to be " << describe(*state, meshAttr);
    }
  }
  if (auto scatter = dyn_cast<ScatterAddOp>(op))
    return visitSplitScatter(scatter);
  if (auto select = dyn_cast<SelectOp>(op)) {
    if (select.getOnTrue().getDefiningOp<GatherOp>() &&
        states[select.getOnTrue()].kind == DeviceState::Opaque)
      return visitSplitGather(select);
    return visitMakePartial(select);
  }
  // What depends on the device further on makes sense only in a pattern.
  return DeviceState();
}

MaybeState DeviceStates::visitMakePartial(SelectOp op) {
  Value condition = op.getCondition();
  while (auto broadcast = condition.getDefiningOp<BroadcastOp>())
    condition = broadcast.getInput();
  auto isFirst = condition.getDefiningOp<CompareOp>();
  spmd::ShardOffsetOp place =
      isFirst ? getOffset(isFirst.getLhs()) : spmd::ShardOffsetOp();
  Attribute claim = op->getAttr(kStateAttr), fill = getSplat(op.getOnFalse());
  DeviceState value = resolve(op.getOnTrue());
  if (!place || !claim || isFirst.getPredicate() != Predicate::EQ ||
      !isInteger(isFirst.getRhs(), 0) || value.kind != DeviceState::Part)
    return DeviceState();
  MaybeState state = readState(claim, op, op.getType());
  if (failed(state))
    return failure();
  AxisList axes = getAxes(place.getAxes());
  bool fits = static_cast<int64_t>(place.getSize()) == mesh.getProduct(axes) &&
              (value.sharding.partial.empty() ||
               value.sharding.partialKind == state->sharding.partialKind) &&
              fill == getNeutralElement(state->sharding.partialKind,
                                        op.getType().getElementType());
  for (int8_t axis : axes)
    fits &= !(value.sharding.getAxisMask() & (1u << axis));
  llvm::append_range(value.sharding.partial, axes);
  llvm::sort(value.sharding.partial);
  value.sharding.partialKind = state->sharding.partialKind;
  if (fits && value.sharding == state->sharding &&
      value.globalType == state->globalType)
    return state;
  return op.emitOpError("keeps a value on the first device along ")
         << place.getAxes() << ", but claims to be "
         << describe(*state, meshAttr);
}

MaybeState DeviceStates::visitSplitGather(SelectOp op) {
  auto gather = op.getOnTrue().getDefiningOp<GatherOp>();
  auto broadcast = op.getCondition().getDefiningOp<BroadcastOp>();
  auto both = broadcast ? broadcast.getInput().getDefiningOp<AndOp>() : AndOp();
  auto index = gather.getIndices().getDefiningOp<SubOp>();
  Attribute claim = op->getAttr(kStateAttr);
  auto fail = [&](const Twine &what) {
    return op.emitOpError(
               "does not select what is looked up in a split table: ")
           << what;
  };
  if (!both || !index || !claim)
    return fail("the range of the indices is not checked");
  auto low = both.getLhs().getDefiningOp<CompareOp>();
  auto high = both.getRhs().getDefiningOp<CompareOp>();
  int64_t dim = gather.getDim();
  int64_t localSize = getTensorType(gather.getInput()).getDimSize(dim);
  if (!low || !high || low.getLhs() != index.getResult() ||
      high.getLhs() != index.getResult() ||
      low.getPredicate() != Predicate::GE || !isInteger(low.getRhs(), 0) ||
      high.getPredicate() != Predicate::LT ||
      !isInteger(high.getRhs(), localSize))
    return fail("the range is not that of the part");
  for (auto [i, to] : llvm::enumerate(broadcast.getDims()))
    if (to != dim + static_cast<int64_t>(i))
      return fail("the condition is not that of the indices");
  DeviceState table = resolve(gather.getInput());
  spmd::ShardOffsetOp offset = getOffset(index.getRhs());
  if (!offset || table.kind != DeviceState::Part ||
      table.sharding.dims[dim] != getAxes(offset.getAxes()) ||
      table.globalType.getDimSize(dim) !=
          static_cast<int64_t>(offset.getSize()))
    return fail("the offset is not that of the table's part");
  auto upper = index.getLhs().getDefiningOp<MinOp>();
  auto lower = upper ? upper.getLhs().getDefiningOp<MaxOp>() : MaxOp();
  if (!lower || !isInteger(lower.getRhs(), 0) ||
      !isInteger(upper.getRhs(), offset.getSize() - 1))
    return fail("the indices are not clamped to the table");
  Attribute zero = getSplat(op.getOnFalse());
  if (zero !=
      getNeutralElement(ReductionKind::Sum, op.getType().getElementType()))
    return fail("absent rows are not zero");
  DeviceState indices = resolve(upper.getResult());
  MaybeState state = readState(claim, op, op.getType());
  if (failed(state))
    return failure();
  if (indices.kind != DeviceState::Part)
    return fail("the indices depend on the device");
  return checkAgainstRule(gather, {table, indices}, *state, true);
}

MaybeState DeviceStates::visitSplitScatter(ScatterAddOp op) {
  auto fail = [&](const Twine &what) {
    return op.emitOpError("does not add to its part of a split dimension: ")
           << what;
  };
  auto places = op.getIndices().getDefiningOp<SubOp>();
  Attribute claim = op->getAttr(kStateAttr);
  if (!places || !claim)
    return fail("its indices depend on the device in an unknown way");
  MaybeState state = readState(claim, op, op.getType());
  if (failed(state))
    return failure();
  int64_t dim = op.getDim();
  spmd::ShardOffsetOp offset = getOffset(places.getRhs());
  if (!offset || state->sharding.dims[dim] != getAxes(offset.getAxes()) ||
      state->globalType.getDimSize(dim) !=
          static_cast<int64_t>(offset.getSize()))
    return fail("the offset is not that of the part");
  DeviceState indices = resolve(places.getLhs());
  DeviceState updates = resolve(op.getUpdates());
  if (indices.kind != DeviceState::Part || updates.kind != DeviceState::Part)
    return fail("what is added depends on the device");
  return checkAgainstRule(op, {indices, updates}, *state, false);
}
