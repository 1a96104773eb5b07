// Passes of the partition phase.
#ifndef PPLAN_PARTITION_PASSES_TD
#define PPLAN_PARTITION_PASSES_TD

include "mlir/Pass/PassBase.td"

def InsertReshards : Pass<"pplan-insert-reshards", "::mlir::ModuleOp"> {
  let summary = "Makes every operation compatible with its own sharding rule by resharding operands and results";
  let description = [{
    Before: the global view with any shardings on any values; a value without
    one is replicated. After: each operation can run on one device's parts
    without communication, and every change of sharding is a `pplan.reshard`.
    For each operation the pass chooses the axes of its factors so that the
    fewest bytes move; to leave all factors whole is always possible. Operands
    that several operations want alike are resharded once.

    Before:
    ```mlir
    %y = pplan.exp %x {pplan.shardings = [#pplan.sharding<@m, [{"x"} ]> ]} : tensor<8xf32>
    ```
    After:
    ```mlir
    %0 = pplan.reshard %x {pplan.shardings = [#pplan.sharding<@m, [{"x"} ]> ]} : tensor<8xf32>
    %y = pplan.exp %0 {pplan.shardings = [#pplan.sharding<@m, [{"x"} ]> ]} : tensor<8xf32>
    ```
    Fails when shardings name several meshes, or an operation has no sharding
    rule.
  }];
  let options = [
    Option<"reportBytes", "report-bytes", "int64_t", "0",
           "Remark on each reshard in which a device receives at least this many bytes; 0 reports none">,
  ];
  let dependentDialects = ["::pplan::PPlanDialect"];
}

def Partition : Pass<"pplan-partition", "::mlir::ModuleOp"> {
  let summary = "Turns the global view into what one device does";
  let description = [{
    Before: every operation is compatible with its sharding rule (see
    `pplan-insert-reshards`). After: functions work on tensors of local shape;
    the sharding and the global type of each argument and result are kept as
    `spmd.layout`; reshards are collectives, slices and permutations; padding
    is masked where a reduction would read it. `spmd.state` on an operation
    says which part of which global tensor its result is: `spmd-verify`
    recomputes it.

    Before:
    ```mlir
    %y = pplan.reshard %x {pplan.shardings = [#pplan.sharding<@m, [{} ]> ]} : tensor<8xf32>
    ```
    After, when %x is split over "x" = 2:
    ```mlir
    %y = spmd.all_gather %x dim 0 on @m ["x"] : tensor<4xf32> to tensor<8xf32>
    ```
    Fails when an operation is not compatible with its shardings. A module
    without a mesh is given `@mesh = <[]>`, a single device.
  }];
  let dependentDialects = ["::pplan::PPlanDialect", "::pplan::spmd::SPMDDialect"];
}

def OptimizeCollectives : Pass<"spmd-optimize-collectives", "::mlir::func::FuncOp"> {
  let summary = "Removes and narrows collectives of the device view";
  let description = [{
    An `all_gather` whose result is sliced again over the same axes vanishes,
    an `all_reduce` whose only use is such a slice becomes a `reduce_scatter`,
    and a conversion moves to the side of an `all_gather` where it leaves the
    narrower type to send. Equal collectives are merged, unused ones removed.

    Before:
    ```mlir
    %1 = spmd.all_reduce sum %0 on @m ["x"] : tensor<8xf32>
    %2 = spmd.shard_slice %1 dim 0 on @m ["x"] : tensor<8xf32> to tensor<4xf32>
    ```
    After:
    ```mlir
    %2 = spmd.reduce_scatter sum %0 dim 0 on @m ["x"] : tensor<8xf32> to tensor<4xf32>
    ```
    Values of the program stay the same, but for the order of summation.
  }];
  let statistics = [
    Statistic<"numRewritten", "rewritten", "Collectives removed, fused or moved">,
  ];
}

def VerifyProgram : Pass<"spmd-verify", "::mlir::func::FuncOp"> {
  let summary = "Proves that a device program communicates what its layouts need and cannot deadlock";
  let description = [{
    Follows from the layouts of the arguments which part of which global
    tensor every value is, through sharding rules and collectives, and rejects
    the program when an operation's operands do not fit together, padding
    reaches a reduction, or a result is not what its layout says. Then expands
    the program to one trace of collectives per device and simulates them:
    every collective must meet its partners. Changes nothing.

    Assumes the output of `pplan-partition`; needs `spmd.layout` on arguments
    and results and, on operations whose global shape does not follow from
    their operands, `spmd.state`, which is checked, not trusted.
  }];
}

#endif // PPLAN_PARTITION_PASSES_TD
