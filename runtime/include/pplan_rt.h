/*===- pplan_rt.h - the ABI between compiled programs and the runtime ------===*\
|*
|* The pure C interface that pplan's generated code calls and that every back
|* end (threads, MPI, CUDA) implements. This header only gathers the parts:
|*
|*   pplan_rt/base.h         status, context, streams, events, arenas, launch
|*   pplan_rt/collectives.h  communicators and what ranks say to each other
|*   pplan_rt/kernels.h      GEMM, attention and scatter
|*   pplan_rt/program.h      the descriptor that a compiled program exports
|*
|* It leaves to the back end how ranks are run and where memory lies, and to the
|* compiler everything about which buffer is where.
|*
|* Conventions. A function that can fail returns `pplan_status *`; NULL is
|* success, so success costs nothing. Sizes are in elements unless a name says
|* bytes. Tensors are dense and row-major unless strides are given. Everything
|* that computes or communicates takes a stream; work on one stream runs in the
|* order in which it was given. No exception leaves any of these functions, and
|* none touches global mutable state.
|*
\*===----------------------------------------------------------------------===*/
#ifndef PPLAN_RT_H
#define PPLAN_RT_H

#include "pplan_rt/base.h"
#include "pplan_rt/collectives.h"
#include "pplan_rt/kernels.h"
#include "pplan_rt/program.h"

#endif /* PPLAN_RT_H */
