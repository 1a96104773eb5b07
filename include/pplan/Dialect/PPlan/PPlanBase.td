// The pplan dialect itself, its enums and its attributes: mesh and sharding. Operations are in PPlanOps.td.
#ifndef PPLAN_DIALECT_PPLAN_BASE_TD
#define PPLAN_DIALECT_PPLAN_BASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def PPlan_Dialect : Dialect {
  let name = "pplan";
  let cppNamespace = "::pplan";
  let summary = "The global view of a model: named tensor operations, device meshes and shardings";
  let description = [{
    Operations work on whole (unsharded) ranked tensors of static shape and
    have the field's usual names. A mesh (`pplan.mesh`) names the axes along
    which devices are laid out; a `#pplan.sharding` says along which axes each
    dimension of a value is split.

    Discardable attributes that the dialect verifies:

    * `pplan.shardings` on an operation: an array with one `#pplan.sharding`
      per result.
    * `pplan.sharding` on a function's argument or result: its sharding.
    * `pplan.input = "name"`, `pplan.param = "name"` on an argument and
      `pplan.output = "name"` on a result: the user's names.
    * `pplan.range = array<i64: least, greatest>` on an argument of integers: a
      value outside is a mistake of whoever gives it.
    * `pplan.data` on a parameter: a `#pplan.data`, the bytes that hold it.
    * `pplan.state = "name"` on an argument: a value that a training step hands
      to the next one (a moment of an optimizer), at first `pplan.init`.
    * `pplan.updates = "name"` on a result: the new value of the parameter or
      state of that name.
    * `pplan.gradient = "name"` on a result: the gradient of that parameter.
    * `pplan.phase` on an operation: a `#pplan.phase`, the part of a training
      step that it belongs to.
    * `pplan.micro_batches` on a function: how many micro-batches a training
      step has. Its arguments named by `pplan.input` are one of them.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerAttrs();
  }];
}

class PPlan_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::pplan";
  let genSpecializedAttr = 0;
}

def PPlan_ReductionKind : PPlan_Enum<"ReductionKind", "associative combiner of a reduction", [
  I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Prod", 1, "prod">,
  I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">]>;
def PPlan_ReductionKindAttr : EnumAttr<PPlan_Dialect, PPlan_ReductionKind, "reduction">;

def PPlan_Predicate : PPlan_Enum<"Predicate", "comparison; on floats every one but `ne` is false for NaN", [
  I32EnumAttrCase<"EQ", 0, "eq">, I32EnumAttrCase<"NE", 1, "ne">,
  I32EnumAttrCase<"LT", 2, "lt">, I32EnumAttrCase<"LE", 3, "le">,
  I32EnumAttrCase<"GT", 4, "gt">, I32EnumAttrCase<"GE", 5, "ge">]>;
def PPlan_PredicateAttr : EnumAttr<PPlan_Dialect, PPlan_Predicate, "predicate">;

def PPlan_GeluKind : PPlan_Enum<"GeluKind", "exact (erf) or tanh approximation", [
  I32EnumAttrCase<"Erf", 0, "erf">, I32EnumAttrCase<"Tanh", 1, "tanh">]>;
def PPlan_GeluKindAttr : EnumAttr<PPlan_Dialect, PPlan_GeluKind, "gelu_kind">;

def PPlan_Phase : PPlan_Enum<"Phase", "part of a training step", [
  I32EnumAttrCase<"Forward", 0, "forward">, I32EnumAttrCase<"InputGradient", 1, "input_gradient">,
  I32EnumAttrCase<"WeightGradient", 2, "weight_gradient">, I32EnumAttrCase<"Update", 3, "update">]>;
def PPlan_PhaseAttr : EnumAttr<PPlan_Dialect, PPlan_Phase, "phase"> {
  let assemblyFormat = "`<` $value `>`";
}

class PPlan_Attr<string name, string attrMnemonic> : AttrDef<PPlan_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def PPlan_MeshAxis : PPlan_Attr<"MeshAxis", "axis"> {
  let summary = "One named axis of a mesh and the number of devices along it";
  let parameters = (ins StringRefParameter<>:$name, "int64_t":$size);
  let description = [{
    Written `"data"=4` inside a mesh.

    Constraints: the size is at least 1; the name is not empty.
  }];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def PPlan_MeshAttr : PPlan_Attr<"Mesh", "mesh_shape"> {
  let summary = "Named axes; device ids are row-major over them, the last axis varies fastest";
  let parameters = (ins ArrayRefParameter<"MeshAxisAttr">:$axes);
  let description = [{
    `<["data"=2, "tensor"=4]>` is eight devices; device 5 has data = 1 and
    tensor = 1. `<[]>` is a single device.

    Constraints: names are unique; at most 16 axes and 2^20 devices.
  }];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Product of the axis sizes.
    int64_t getNumDevices() const;
    /// Position of the axis, or -1.
    int getAxisIndex(llvm::StringRef name) const;
  }];
}

def PPlan_DimShardingAttr : PPlan_Attr<"DimSharding", "dim_sharding"> {
  let summary = "Axes that split one dimension, major to minor, and whether propagation may add more";
  let parameters = (ins ArrayRefParameter<"mlir::StringAttr">:$axes, "bool":$open);
  let hasCustomAssemblyFormat = 1;
}

def PPlan_ShardingAttr : PPlan_Attr<"Sharding", "sharding"> {
  let summary = "How a value is split over a mesh";
  let parameters = (ins "mlir::FlatSymbolRefAttr":$mesh, ArrayRefParameter<"DimShardingAttr">:$dims,
                        ArrayRefParameter<"mlir::StringAttr">:$partialAxes,
                        "ReductionKind":$partialKind);
  let description = [{
    One list of axes per dimension, major to minor. A dimension of size n over
    axes a1, a2 is first split over a1 in parts of c1 = ceil(n / |a1|), each of
    them over a2 in parts of c2 = ceil(c1 / |a2|); trailing parts may be short
    or empty and are padded. Axes that are not named replicate the value. A `?`
    at the end of a dimension leaves it open: propagation may add axes.

    `partial = sum {"x"}` says that the devices along "x" hold summands of the
    value (an unreduced value).

    ```mlir
    #pplan.sharding<@mesh, [{"data"}, {}, {"tensor", ?} ]>
    #pplan.sharding<@mesh, [{"data"}, {} ], partial = sum {"tensor"}>
    ```

    Constraints: an axis occurs at most once; every axis belongs to the mesh;
    there is one list per dimension of the value.
  }];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// True when no dimension is open.
    bool isComplete() const;
  }];
}

def PPlan_DataAttr : PPlan_Attr<"Data", "data"> {
  let summary = "The bytes of a file that hold a parameter, row-major and little-endian";
  let parameters = (ins StringRefParameter<>:$path, "int64_t":$offset, "int64_t":$size);
  let assemblyFormat = "`<` $path `,` `offset` `=` $offset `,` `size` `=` $size `>`";
  let genVerifyDecl = 1;
}

/// So many elements that sums and products of sizes, and sizes in bytes, cannot
/// overflow 64 bits. Dimensions of size 0 count as 1.
def PPlan_CountablePred : CPred<"::pplan::isCountable(::llvm::cast<::mlir::RankedTensorType>($_self))">;
class PPlan_TensorOf<list<Type> elements>
    : RankedTensorOf<elements, [HasStaticShapePred, PPlan_CountablePred],
                     "statically shaped tensor (at most 2^48 elements)">;

#endif // PPLAN_DIALECT_PPLAN_BASE_TD
