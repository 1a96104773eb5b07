// Operations of the pplan dialect: the mesh, elementwise operations, and the includes of the other op groups.
#ifndef PPLAN_DIALECT_PPLAN_OPS_TD
#define PPLAN_DIALECT_PPLAN_OPS_TD

include "pplan/Dialect/PPlan/PPlanBase.td"
include "pplan/Dialect/PPlan/ShardableOpInterface.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class PPlan_Op<string mnemonic, list<Trait> traits = []> : Op<PPlan_Dialect, mnemonic, traits>;

def PPlan_Float : AnyTypeOf<[F64, F32, F16, BF16], "f64, f32, f16 or bf16">;
def PPlan_Int : AnyTypeOf<[I64, I32, I8, UI8], "i64, i32, i8 or ui8">;
def PPlan_Element : AnyTypeOf<[PPlan_Float, PPlan_Int, I1], "a float, an integer or i1">;
def PPlan_Tensor : PPlan_TensorOf<[PPlan_Element]>;
def PPlan_FloatTensor : PPlan_TensorOf<[PPlan_Float]>;
def PPlan_NumberTensor : PPlan_TensorOf<[PPlan_Float, PPlan_Int]>;
def PPlan_IntTensor : PPlan_TensorOf<[PPlan_Int]>;
def PPlan_BoolTensor : PPlan_TensorOf<[I1]>;
def PPlan_LogicTensor : PPlan_TensorOf<[I1, PPlan_Int]>;

def PPlan_MeshOp : PPlan_Op<"mesh", [Symbol]> {
  let summary = "Declares a device mesh under a symbol";
  let description = [{
    ```mlir
    pplan.mesh @mesh = <["data"=2, "tensor"=4]>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, PPlan_MeshAttr:$shape);
  let assemblyFormat = "$sym_name `=` $shape attr-dict";
}

//===----------------------------------------------------------------------===//
// Elementwise operations
//===----------------------------------------------------------------------===//

/// All operands and results have one shape; `flops` is the work per element.
class PPlan_ElementwiseOp<string mnemonic, int flops, list<Trait> traits>
    : PPlan_Op<mnemonic, !listconcat(traits, [Pure,
        DeclareOpInterfaceMethods<PPlan_ShardableOpInterface, ["getFlopsPerPoint"]>])> {
  code shardableDefinition = [{
    ::pplan::ShardingRule $cppClass::getShardingRule() {
      return ::pplan::getElementwiseRule(getOperation());
    }
    double $cppClass::getFlopsPerPoint() { return }] # flops # [{; }
  }];
  let extraClassDefinition = shardableDefinition;
}

class PPlan_UnaryOp<string mnemonic, Type type, string what, int flops, list<Trait> traits = []>
    : PPlan_ElementwiseOp<mnemonic, flops, !listconcat(traits, [SameOperandsAndResultType])> {
  let summary = what # ", element by element";
  string example = "f32"; // element type in the description
  let description = "```mlir\n%y = pplan." # mnemonic # " %x : tensor<4x8x" # example # ">\n```\n";
  let arguments = (ins type:$input);
  let results = (outs type:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

class PPlan_FloatUnaryOp<string mnemonic, string what, int flops> : PPlan_UnaryOp<mnemonic, PPlan_FloatTensor, what, flops>;

def PPlan_AbsOp : PPlan_UnaryOp<"abs", PPlan_NumberTensor, "Absolute value", 1>;
def PPlan_SignOp : PPlan_UnaryOp<"sign", PPlan_NumberTensor, "Sign (-1, 0 or 1)", 2>;
def PPlan_NegOp : PPlan_UnaryOp<"neg", PPlan_NumberTensor, "Negation", 1> {
  let extraClassDefinition = shardableDefinition # [{
    bool $cppClass::passesPartialSums(const ::llvm::SmallBitVector &) { return true; }
  }];
  let extraClassDeclaration = "bool passesPartialSums(const ::llvm::SmallBitVector &partial);";
}
def PPlan_ExpOp : PPlan_FloatUnaryOp<"exp", "Exponential", 12>;
def PPlan_LogOp : PPlan_FloatUnaryOp<"log", "Natural logarithm", 16>;
def PPlan_SqrtOp : PPlan_FloatUnaryOp<"sqrt", "Square root", 4>;
def PPlan_RsqrtOp : PPlan_FloatUnaryOp<"rsqrt", "Reciprocal square root", 5>;
def PPlan_SinOp : PPlan_FloatUnaryOp<"sin", "Sine", 16>;
def PPlan_CosOp : PPlan_FloatUnaryOp<"cos", "Cosine", 16>;
def PPlan_TanhOp : PPlan_FloatUnaryOp<"tanh", "Hyperbolic tangent", 16>;
def PPlan_ErfOp : PPlan_FloatUnaryOp<"erf", "Error function", 20>;
def PPlan_SigmoidOp : PPlan_FloatUnaryOp<"sigmoid", "Logistic function 1 / (1 + exp(-x))", 14>;
def PPlan_SiluOp : PPlan_FloatUnaryOp<"silu", "x * sigmoid(x)", 15>;
def PPlan_ReluOp : PPlan_UnaryOp<"relu", PPlan_NumberTensor, "max(x, 0); NaN stays NaN", 1>;
def PPlan_FloorOp : PPlan_FloatUnaryOp<"floor", "Largest integer not above x", 1>;
def PPlan_CeilOp : PPlan_FloatUnaryOp<"ceil", "Smallest integer not below x", 1>;
def PPlan_RoundOp : PPlan_FloatUnaryOp<"round", "Nearest integer, ties to even", 1>;
def PPlan_NotOp : PPlan_UnaryOp<"not", PPlan_LogicTensor, "Bitwise complement (logical for i1)", 1> {
  let example = "i1";
}

def PPlan_GeluOp : PPlan_ElementwiseOp<"gelu", 24, [SameOperandsAndResultType]> {
  let summary = "Gaussian error linear unit (Hendrycks and Gimpel, 2016), exact or by tanh";
  let description = [{
    `erf`: x/2 * (1 + erf(x / sqrt(2))). `tanh`: x/2 * (1 + tanh(sqrt(2/pi) *
    (x + 0.044715 x^3))).

    ```mlir
    %y = pplan.gelu tanh %x : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PPlan_FloatTensor:$input, PPlan_GeluKindAttr:$kind);
  let results = (outs PPlan_FloatTensor:$result);
  let assemblyFormat = "`` $kind $input attr-dict `:` type($input)";
}

def PPlan_ConvertOp : PPlan_ElementwiseOp<"convert", 1, [SameOperandsAndResultShape]> {
  let summary = "Changes the element type";
  let description = [{
    Float to integer truncates toward zero and saturates, NaN gives 0; to i1 it
    is `x != 0`; float to a narrower float rounds to nearest even.

    ```mlir
    %y = pplan.convert %x : tensor<4xf32> to tensor<4xi64>
    ```
  }];
  let arguments = (ins PPlan_Tensor:$input);
  let results = (outs PPlan_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($result)";
  let hasFolder = 1;
}

class PPlan_BinaryOp<string mnemonic, Type type, string what, int flops, list<Trait> traits = []>
    : PPlan_ElementwiseOp<mnemonic, flops, !listconcat(traits, [SameOperandsAndResultType])> {
  let summary = what # ", element by element";
  string example = "f32"; // element type in the description
  let description = "Operands have one shape; see `pplan.broadcast`.\n```mlir\n%z = pplan." # mnemonic # " %x, %y : tensor<4x8x" # example # ">\n```\n";
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs)";
}

/// Linear in both operands together.
class PPlan_SumLikeOp<string mnemonic, string what, list<Trait> traits = []>
    : PPlan_BinaryOp<mnemonic, PPlan_NumberTensor, what, 1, traits> {
  let extraClassDefinition = shardableDefinition # [{
    bool $cppClass::passesPartialSums(const ::llvm::SmallBitVector &partial) { return partial.all(); }
  }];
  let extraClassDeclaration = "bool passesPartialSums(const ::llvm::SmallBitVector &partial);";
}
def PPlan_AddOp : PPlan_SumLikeOp<"add", "Sum", [Commutative]>;
def PPlan_SubOp : PPlan_SumLikeOp<"sub", "Difference">;
def PPlan_MulOp : PPlan_BinaryOp<"mul", PPlan_NumberTensor, "Product", 1, [Commutative]> {
  let extraClassDefinition = shardableDefinition # [{
    bool $cppClass::passesPartialSums(const ::llvm::SmallBitVector &partial) { return partial.count() == 1; }
  }];
  let extraClassDeclaration = "bool passesPartialSums(const ::llvm::SmallBitVector &partial);";
}
def PPlan_DivOp : PPlan_BinaryOp<"div", PPlan_NumberTensor, "Quotient; integers truncate toward zero, x / 0 is 0 for them", 4> {
  let extraClassDefinition = shardableDefinition # [{
    bool $cppClass::passesPartialSums(const ::llvm::SmallBitVector &partial) {
      return !partial.test(1) && !getType().getElementType().isInteger();
    }
  }];
  let extraClassDeclaration = "bool passesPartialSums(const ::llvm::SmallBitVector &partial);";
}
def PPlan_RemOp : PPlan_BinaryOp<"rem", PPlan_NumberTensor, "Remainder with the sign of the dividend; x rem 0 is 0 for integers", 6>;
def PPlan_PowOp : PPlan_BinaryOp<"pow", PPlan_NumberTensor, "Power", 24>;
def PPlan_MaxOp : PPlan_BinaryOp<"max", PPlan_NumberTensor, "Maximum; NaN if either is", 1, [Commutative]>;
def PPlan_MinOp : PPlan_BinaryOp<"min", PPlan_NumberTensor, "Minimum; NaN if either is", 1, [Commutative]>;
def PPlan_AndOp : PPlan_BinaryOp<"and", PPlan_LogicTensor, "Bitwise and (logical for i1)", 1, [Commutative]> {
  let example = "i1";
}
def PPlan_OrOp : PPlan_BinaryOp<"or", PPlan_LogicTensor, "Bitwise or (logical for i1)", 1, [Commutative]> {
  let example = "i1";
}
def PPlan_XorOp : PPlan_BinaryOp<"xor", PPlan_LogicTensor, "Bitwise exclusive or (logical for i1)", 1, [Commutative]> {
  let example = "i1";
}

def PPlan_CompareOp : PPlan_ElementwiseOp<"compare", 1, [SameTypeOperands, SameOperandsAndResultShape]> {
  let summary = "Compares two tensors and gives i1";
  let description = [{
    ```mlir
    %m = pplan.compare lt %x, %y : tensor<4xf32>
    ```
  }];
  let arguments = (ins PPlan_PredicateAttr:$predicate, PPlan_Tensor:$lhs, PPlan_Tensor:$rhs);
  let results = (outs PPlan_BoolTensor:$result);
  let hasCustomAssemblyFormat = 1;
  let builders = [OpBuilder<(ins "::pplan::Predicate":$predicate, "::mlir::Value":$lhs, "::mlir::Value":$rhs)>];
}

def PPlan_SelectOp : PPlan_ElementwiseOp<"select", 1, [SameOperandsAndResultShape, AllTypesMatch<["on_true", "on_false", "result"]>]> {
  let summary = "Takes from one tensor where the condition holds, from the other elsewhere";
  let description = [{
    ```mlir
    %z = pplan.select %c, %x, %y : tensor<4xf32>
    ```
  }];
  let arguments = (ins PPlan_BoolTensor:$condition, PPlan_Tensor:$on_true, PPlan_Tensor:$on_false);
  let results = (outs PPlan_Tensor:$result);
  let hasCustomAssemblyFormat = 1;
  let extraClassDefinition = shardableDefinition # [{
    bool $cppClass::passesPartialSums(const ::llvm::SmallBitVector &partial) {
      return !partial.test(0) && partial.count() == 2;
    }
  }];
  let extraClassDeclaration = "bool passesPartialSums(const ::llvm::SmallBitVector &partial);";
}

def PPlan_ReshardOp : PPlan_ElementwiseOp<"reshard", 0, [SameOperandsAndResultType]> {
  let summary = "Changes the sharding of a value, not its elements";
  let description = [{
    The operand's sharding and the result's (`pplan.shardings`) may differ in
    any way; `pplan-partition` turns the operation into collectives and slices.

    ```mlir
    %y = pplan.reshard %x {pplan.shardings = [#pplan.sharding<@m, [{"data"}, {} ]>]} : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PPlan_Tensor:$input);
  let results = (outs PPlan_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

include "pplan/Dialect/PPlan/PPlanStructuralOps.td"
include "pplan/Dialect/PPlan/PPlanNNOps.td"
include "pplan/Dialect/PPlan/PPlanTrainingOps.td"

#endif // PPLAN_DIALECT_PPLAN_OPS_TD
