// Passes of the memory phase: from operations on tensors to buffers at fixed offsets of one arena.
#ifndef PPLAN_MEMORY_PASSES_TD
#define PPLAN_MEMORY_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertOpsPass : Pass<"pplan-convert-ops", "mlir::ModuleOp"> {
  let summary = "Turns pplan and spmd operations of the entry function into linalg, tensor, arith, math and rt";
  let description = [{
    Assumes one public function without control flow whose operations are of
    the `pplan` and `spmd` dialects, in one device's view. Its arguments and
    results keep their order; `i1` and `ui8` elements become bytes. What the
    host must know about them (names, global types, mesh axes, where parameters
    lie) is kept in the function attributes `rt.arguments`, `rt.results` and
    `rt.mesh`.

    Before:
    ```mlir
    %h = pplan.contract "bk,kn->bn" %x, %w : tensor<4x8xf32>, tensor<8x6xf32> to tensor<4x6xf32>
    %y = pplan.relu %h : tensor<4x6xf32>
    ```
    After:
    ```mlir
    %h = rt.contract "bk,kn->bn" ins(%x, %w : ...) outs(%empty : ...) -> tensor<4x6xf32>
    %y = linalg.generic ... ins(%h) outs(%empty) { arith.maximumf ... }
    ```
    Fails, with the place, on an operation of another dialect, on control flow,
    and on functions that use more than one mesh.

    Guarantees: nothing reads an argument without elements; a result without
    elements is a `tensor.empty`.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::linalg::LinalgDialect", "mlir::math::MathDialect",
                           "mlir::scf::SCFDialect", "mlir::tensor::TensorDialect", "::pplan::rt::RTDialect"];
}

def FuseLoopsPass : Pass<"pplan-fuse-loops", "mlir::ModuleOp"> {
  let summary = "Fuses elementwise loops into the loops that use them, where that saves memory traffic";
  let description = [{
    A producer is fused into its consumer when the consumer is its only user,
    or when computing it again is cheaper than reading it (it is a copy, a
    broadcast, or a few additions and multiplications of broadcast values).
    Afterwards unused operands are dropped and equal values computed once.
  }];
  let dependentDialects = ["mlir::linalg::LinalgDialect", "mlir::affine::AffineDialect"];
  let statistics = [Statistic<"numLoopsBefore", "loops-before", "linalg operations before fusion">,
                    Statistic<"numLoopsAfter", "loops-after", "linalg operations after fusion">];
}

def ReuseOperandsPass : Pass<"pplan-reuse-operands", "mlir::ModuleOp"> {
  let summary = "Lets an elementwise loop write into the operand that it is the last to read";
  let description = [{
    The destination of a loop is replaced by an input of the same type and
    access pattern whose value is not needed afterwards. Bufferisation then
    works in place. A wrong guess costs a copy, never a wrong result.
  }];
  let statistics = [Statistic<"numReused", "destinations-reused", "destinations replaced by an operand">];
}

def BufferizeProgramPass : Pass<"pplan-bufferize-program", "mlir::ModuleOp"> {
  let summary = "Turns tensors into buffers; results are written into buffers that the caller gives";
  let description = [{
    Arguments become read-only dense buffers, results additional arguments
    after them. Runs the one-shot analysis of MLIR, after destinations that end
    up in a result or in a slice of a larger tensor were replaced by it.

    Guarantees: no value of the function is a tensor; the function returns
    nothing; every buffer is an argument, a constant, an allocation, or a view
    of one of these.
  }];
  let dependentDialects = ["mlir::bufferization::BufferizationDialect", "mlir::memref::MemRefDialect"];
}

def UpdateInPlacePass : Pass<"pplan-update-in-place", "mlir::ModuleOp"> {
  let summary = "Writes new values of parameters and state where the old ones lie";
  let description = [{
    Before: each result that updates an argument (`argument = N` in
    `rt.results`) is a buffer of its own. After: there is no such buffer; the
    program writes into the argument. Where nobody reads the old value once the
    new one is being written (or reads it element by element, in the loop that
    writes), at once; else into a temporary that is copied at the end.

    Assumes a straight line of operations on buffers, none of which hides its
    effects. Guarantees: `rt.results` has outputs only.
  }];
  let dependentDialects = ["mlir::memref::MemRefDialect"];
  let statistics = [Statistic<"numInPlace", "in-place", "values updated in place">,
                    Statistic<"numCopied", "copied", "values that are copied at the end">];
}

def PlanArenaPass : Pass<"pplan-plan-arena", "mlir::ModuleOp"> {
  let summary = "Gives every allocation an offset in one arena, so that no two live ones overlap";
  let description = [{
    Each `memref.alloc` of the entry function lives from the first operation
    that uses it (or a view of it) to the last. Offsets are multiples of 64
    bytes. The arena becomes the function's first argument, a buffer of bytes;
    allocations become views of it. Small scratch buffers inside loops go to the
    stack. The attribute `pplan.memory` of the module says what a device needs,
    in bytes:

    ```mlir
    pplan.memory = {arena = 4096 : i64, constants = 0 : i64, inputs = 128 : i64, outputs = 64 : i64, params = 192 : i64}
    ```
    The figure for the arena is exactly what the program allocates.
  }];
  let dependentDialects = ["mlir::memref::MemRefDialect", "mlir::arith::ArithDialect"];
  let statistics = [Statistic<"numBuffers", "buffers", "allocations placed">,
                    Statistic<"arenaBytes", "arena-bytes", "size of the arena">,
                    Statistic<"lowerBound", "lower-bound-bytes", "largest sum of the sizes of buffers live at once">];
}

def VerifyArenaPass : Pass<"pplan-verify-arena", "mlir::ModuleOp"> {
  let summary = "Proves that no buffer in the arena is overwritten while it is still read";
  let description = [{
    Walks the program in order and records for every byte of the arena which
    buffer wrote it last. Reading a buffer whose bytes belong to another one is
    an error, as are views outside the arena or off the alignment, and a figure
    in `pplan.memory` that is not the arena's size. Knows nothing of how
    `pplan-plan-arena` placed the buffers.
  }];
}

#endif // PPLAN_MEMORY_PASSES_TD
