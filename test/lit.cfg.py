# lit configuration of pplan: tests are .mlir files and shell commands on pplan's tools.
import os
import sys

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

source = config.pplan_source_dir
config.substitutions += [
    ("%clusters", os.path.join(source, "share", "clusters")),
    ("%models", os.path.join(source, "test", "models")),
    ("%docs", os.path.join(source, "docs")),
    ("%scripts", os.path.join(source, "scripts")),
    ("%llvm_root", os.path.dirname(config.llvm_tools_dir)),
    ("%python", sys.executable),
]
