// Passes of the lower phase: from buffers in an arena to the LLVM dialect and calls of the runtime.
#ifndef PPLAN_LOWERING_PASSES_TD
#define PPLAN_LOWERING_PASSES_TD

include "mlir/Pass/PassBase.td"

def OutlineKernelsPass : Pass<"pplan-outline-kernels", "mlir::ModuleOp"> {
  let summary = "Moves each loop of the program into a function; equal ones become one";
  let description = [{
    Every top-level linalg operation and loop of the entry function becomes a
    private function `@kernel_N` on the buffers and scalars it uses; constants
    move along, scratch buffers to its start. A copy between buffers becomes a
    loop first. Kernels that differ only in source locations are made once.
    Arguments that cannot alias a buffer that the kernel writes are `noalias`.

    Before:
    ```mlir
    linalg.generic ... ins(%a : memref<8xf32>) outs(%b : memref<8xf32>) { ... }
    ```
    After:
    ```mlir
    call @kernel_0(%a, %b) : (memref<8xf32>, memref<8xf32>) -> ()
    ```
  }];
  let dependentDialects = ["mlir::func::FuncDialect", "mlir::linalg::LinalgDialect", "mlir::LLVM::LLVMDialect"];
  let statistics = [Statistic<"numCalls", "kernel-calls", "loops of the program">,
                    Statistic<"numKernels", "kernels", "kernels made">];
}

def LowerLoopsPass : Pass<"pplan-lower-loops", "mlir::ModuleOp"> {
  let summary = "Turns linalg operations on buffers into scf loops ordered for the cache and for vectors";
  let description = [{
    The innermost loop is the one along which most operands are contiguous;
    around it reductions, around these the parallel loops. Additions into the
    accumulator of a reduction may be reordered (`fastmath<reassoc>`), so that
    LLVM can vectorise them; all floating-point operations may be contracted to
    fused multiply-adds. No other fast-math assumption is made: NaN, infinities
    and signed zeros keep their meaning.
  }];
  let dependentDialects = ["mlir::scf::SCFDialect", "mlir::memref::MemRefDialect"];
}

def ApproximateMathPass : Pass<"pplan-approximate-math", "mlir::ModuleOp"> {
  let summary = "Replaces f32 exp, log, tanh and erf by polynomials that LLVM can vectorise";
  let description = [{
    The errors, measured over arguments of all magnitudes by the test
    `MathAccuracy`, are below 1 unit in the last place for exp and log, below 5
    for tanh and erf; NaN, infinities and subnormal arguments give what the C
    library gives. Results of exp below the smallest normal float are 0. Functions of f64, and sin, cos and
    pow, remain calls of the C library.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::math::MathDialect", "mlir::vector::VectorDialect"];
}

def LowerRuntimePass : Pass<"pplan-lower-runtime", "mlir::ModuleOp"> {
  let summary = "Turns rt operations of the entry function into calls of the runtime's C interface";
  let description = [{
    The entry function gets the runtime's context as its first argument and
    returns a status: null, or the first error that a call returned, in which
    case nothing after it runs. Every step of the program is announced to the
    profiler by the name of the user's layer. Sizes and strides of matrix
    products and attention become constants of the program.
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect", "mlir::cf::ControlFlowDialect"];
}

def EmitDescriptorPass : Pass<"pplan-emit-descriptor", "mlir::ModuleOp"> {
  let summary = "Adds the descriptor `pplan_rt_program` and the function that the runtime calls";
  let description = [{
    The descriptor is the C struct `pplan_program` of pplan_rt.h as constants of
    the LLVM dialect: mesh, inputs, outputs, parameters with their files, arena
    size. The function unpacks the runtime's arrays of pointers and calls the
    entry function.

    Assumes that everything else is in the LLVM dialect; fails, with the place,
    if it is not.
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect"];
}

#endif // PPLAN_LOWERING_PASSES_TD
