# lit configuration of pplan: tests are .mlir files and shell commands on pplan's tools.
import os
import lit.formats

config.name = "pplan"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["unit", "conformance", "fuzz", "integration", "models", "Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.pplan_build_dir, "test")
config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.pplan_build_dir, "bin"), config.llvm_tools_dir, config.environment["PATH"]]
)
config.environment["NO_COLOR"] = "1"
config.substitutions.append(("%clusters", os.path.join(config.pplan_source_dir, "share", "clusters")))
config.substitutions.append(("%models", os.path.join(config.pplan_source_dir, "test", "models")))
