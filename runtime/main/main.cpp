//===- main.cpp - main() of stand-alone executables -----------------------===//
//
// Joins the program that the generated code exports with the runtime.
//
//===----------------------------------------------------------------------===//
#include "pplan_rt.h"

int main(int argc, char **argv) {
  return pplan_rt_program_main(&pplan_rt_program, argc, argv);
}
