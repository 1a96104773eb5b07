// Passes of the plan phase.
#ifndef PPLAN_PLANNER_PASSES_TD
#define PPLAN_PLANNER_PASSES_TD

include "mlir/Pass/PassBase.td"

def SplitDimensions : Pass<"pplan-split-dimensions", "::mlir::ModuleOp"> {
  let summary = "Gives the factors that reshapes and slices make dimensions of their own, up to the parameters";
  let description = [{
    A fused projection followed by equal slices, or by a reshape into heads,
    hides its factors inside one dimension, where a mesh that does not divide
    the heads cannot reach them. The pass moves such reshapes up through
    elementwise operations, broadcasts and contractions, and gives parameters
    the finer shape (their bytes stay the same).

    Before:
    ```mlir
    %h = pplan.contract "btk,kn->btn" %x, %w : tensor<4x8x32xf32>, tensor<32x32xf32> to tensor<4x8x32xf32>
    %q = pplan.reshape %h : tensor<4x8x32xf32> to tensor<4x8x2x16xf32>
    ```
    After:
    ```mlir
    %q = pplan.contract "btk,knd->btnd" %x, %w : tensor<4x8x32xf32>, tensor<32x2x16xf32> to tensor<4x8x2x16xf32>
    ```
    Assumes no shardings yet: annotated operations are left alone.
  }];
}

def DuplicateBroadcasts : Pass<"pplan-duplicate-broadcasts", "::mlir::func::FuncOp"> {
  let summary = "Gives every user of a broadcast constant a broadcast of its own";
  let description = [{
    Layers that multiply by one broadcast constant (a rotary embedding's
    cosines, a scale) share its sharding, though each could make it from the
    constant as it likes: the shared value ties every layer to every other, and
    the planner's problem loses the narrow structure that an exact solution
    needs. The copies cost nothing: equal ones become one again after
    partitioning, and a broadcast is fused into the loop that reads it.

    Before:
    ```mlir
    %b = pplan.broadcast %c dims [0, 1] : tensor<1x4xf32> to tensor<8x4xf32>
    %y = pplan.mul %x, %b : tensor<8x4xf32>
    %z = pplan.mul %y, %b : tensor<8x4xf32>
    ```
    After:
    ```mlir
    %b = pplan.broadcast %c dims [0, 1] : tensor<1x4xf32> to tensor<8x4xf32>
    %y = pplan.mul %x, %b : tensor<8x4xf32>
    %b1 = pplan.broadcast %c dims [0, 1] : tensor<1x4xf32> to tensor<8x4xf32>
    %z = pplan.mul %y, %b1 : tensor<8x4xf32>
    ```
  }];
}

def PropagateShardings : Pass<"pplan-propagate-shardings", "::mlir::ModuleOp"> {
  let summary = "Extends partial sharding annotations over the factors of each operation until nothing changes";
  let description = [{
    Before: some arguments and operations have shardings, open (`?`) or closed.
    After: every value that shares a factor with an annotated one has the
    factor's axes, as far as its own annotation leaves the dimension open.
    Values nobody reaches stay as they are. Two annotations that want
    different axes for one factor are a conflict: the one that came first
    stays, and a warning names both places.

    ```mlir
    func.func @f(%x: tensor<8x4xf32> {pplan.sharding = #pplan.sharding<@m, [{"x"}, {} ]> }) ...
      %y = pplan.exp %x : tensor<8x4xf32>
    // becomes
      %y = pplan.exp %x {pplan.shardings = [#pplan.sharding<@m, [{"x"}, {} ]> ]} : tensor<8x4xf32>
    ```

    Assumes: the module declares the mesh that the annotations name.
  }];
}

def PlanIntraOp : Pass<"pplan-plan-intra-op", "::mlir::ModuleOp"> {
  let summary = "Chooses a mesh and a sharding for every value, by least predicted time";
  let description = [{
    Before: the global view, with or without a mesh and partial annotations,
    which are constraints. After: one mesh; every operation and argument has a
    complete sharding that its sharding rule allows without communication;
    every change of sharding is a `pplan.reshard`; the module attribute
    `pplan.plan` has the predicted time, its lower bound, the gap, and for each
    operation the choice, the second-best choice and its extra cost.

    The pass builds an intra-operator problem for each factorisation of the
    devices into a mesh (docs/Planner/plan-intra-op.md) and solves it exactly
    where the graph is narrow. It fails when the annotations contradict each
    other or nothing fits into the memory of a device.
  }];
  let options = [
    Option<"cluster", "cluster", "std::string", "\"cpu-threads\"", "Name or path of the cluster description">,
    Option<"clusterDirs", "cluster-dirs", "std::string", "\"\"", "Directories with cluster descriptions, separated by ':'">,
    Option<"devices", "devices", "int64_t", "1", "Number of devices">,
    Option<"parallel", "parallel", "std::string", "\"\"", "Forced degrees such as dp=2,tp=4">,
    Option<"timeout", "timeout", "double", "60", "Seconds that all solving may take">,
  ];
}

#endif // PPLAN_PLANNER_PASSES_TD
