//===- RuntimeDescs.h - Descriptors that runtime calls take -----*- C++ -*-===//
//
// Builds the C structs of pplan_rt.h for matrix products, attention and
// all-to-all from operations on buffers.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_LOWERING_RUNTIMEDESCS_H
#define PPLAN_LIB_LOWERING_RUNTIMEDESCS_H

#include "Globals.h"
#include "pplan/Memory/RT.h"

namespace pplan {

/// A matrix product: its `pplan_gemm_desc`, and which operands are A and B.
struct GemmCall {
  Datum desc;
  mlir::Value a, b;
};

/// Reports a contraction whose buffers do not fit.
mlir::FailureOr<GemmCall> getGemmCall(rt::ContractOp op,
                                      mlir::FlatSymbolRefAttr name);

/// The `pplan_attention_desc` of an attention.
mlir::FailureOr<Datum> getAttentionDesc(rt::AttentionOp op,
                                        mlir::FlatSymbolRefAttr name);

/// The `pplan_attention_backward_desc` of its gradient.
mlir::FailureOr<Datum>
getAttentionBackwardDesc(rt::AttentionBackwardOp op,
                         mlir::FlatSymbolRefAttr name);

/// The `pplan_scatter_add_desc`.
Datum getScatterAddDesc(rt::ScatterAddOp op, mlir::FlatSymbolRefAttr name);

/// The `pplan_all_to_all_desc` from the shapes of source and destination.
Datum getAllToAllDesc(rt::AllToAllOp op, llvm::ArrayRef<int64_t> from,
                      llvm::ArrayRef<int64_t> to);

} // namespace pplan

#endif // PPLAN_LIB_LOWERING_RUNTIMEDESCS_H
