//===- pplan.cpp - The command line tool ----------------------------------===//
//
// Everything is in lib/Driver.
//
//===----------------------------------------------------------------------===//
#include "pplan/Driver/Driver.h"

int main(int argc, char **argv) { return pplan::runDriver(argc, argv); }
