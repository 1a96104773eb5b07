/*===- program.h - the descriptor of a compiled program --------------------===*\
|*
|* What a compiled program exports so that a host (the main() of stand-alone
|* executables, a test, another language) can feed and run it. All memory that a
|* run needs on a rank can be computed from it: the arena, the local buffers of
|* parameters, and the local buffers of inputs and outputs.
|*
\*===----------------------------------------------------------------------===*/
#ifndef PPLAN_RT_PROGRAM_H
#define PPLAN_RT_PROGRAM_H

#include "pplan_rt/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A mesh axis. Axis 0 varies slowest in the numbering of ranks. */
typedef struct pplan_mesh_axis {
  const char *name;
  int64_t size;
} pplan_mesh_axis;

/** A dimension of a tensor and how it is sharded (see the sharding rule in
 * collectives.h). Without axes the dimension is whole on each rank. */
typedef struct pplan_dim {
  int64_t global_size; /**< elements of the whole tensor */
  int64_t local_size;  /**< elements of a rank's buffer, padding included */
  const int32_t *axes; /**< indices of mesh axes, major first */
  int32_t num_axes;
  int32_t reserved; /**< 0 */
} pplan_dim;

/** An input or output. Ranks that differ only in axes that no dimension names
 * hold replicas. A rank's buffer is dense, row-major, of the local sizes, and
 * aligned to 64 bytes. */
typedef struct pplan_tensor {
  const char *name;
  const pplan_dim *dims;
  int32_t rank; /**< number of dimensions; 0 is a scalar */
  int32_t dtype;
  /** Of an input of integers: the values that mean something. Those outside are
   * refused. INT64_MIN and INT64_MAX for all. */
  int64_t least, greatest;
} pplan_tensor;

/** A parameter. Its values are raw little-endian row-major data of the global
 * shape: in a file from byte_offset on (path), or in the program itself (data).
 * Exactly one of path and data is set. byte_size is that of the global tensor. */
typedef struct pplan_param {
  pplan_tensor tensor;
  const char *path;
  const void *data;
  uint64_t byte_offset;
  uint64_t byte_size;
} pplan_param;

/** A value that one run hands to the next: a parameter that is trained, or what
 * an optimizer keeps. It begins with the data of `start`, as a parameter has it,
 * or, when that has neither path nor data (and byte_size 0), with the element at
 * `init` repeated, or with zeros when `init` is NULL too. Each rank has a buffer
 * of its own for its part. */
typedef struct pplan_state {
  pplan_param start;
  const void *init;
} pplan_state;

/** The part of the program that every rank runs, once per iteration. Pointers of
 * parameters, states, inputs and outputs are to the rank's local buffers, in the
 * order of the descriptor's lists. Parameters are read-only and aligned to
 * param_alignment; states are read and written, aligned to 64. `arena` has
 * arena_bytes, aligned to 64, contents unspecified. Outputs must be written
 * completely; inputs are read-only. */
typedef pplan_status *(*pplan_entry_fn)(pplan_context *ctx, void *arena,
                                        const void *const *params,
                                        void *const *states,
                                        const void *const *inputs,
                                        void *const *outputs);

/** A compiled program. */
typedef struct pplan_program {
  int32_t abi_version; /**< PPLAN_RT_ABI_VERSION */
  int32_t num_ranks;   /**< product of the axis sizes */
  const char *name;
  int32_t num_axes;
  int32_t num_inputs;
  int32_t num_outputs;
  int32_t num_params;
  int32_t num_states;
  int32_t reserved; /**< 0 */
  const pplan_mesh_axis *axes;
  const pplan_tensor *inputs;
  const pplan_tensor *outputs;
  const pplan_param *params;
  const pplan_state *states;
  uint64_t arena_bytes;     /**< per rank, workspaces included */
  uint64_t param_alignment; /**< bytes, a power of two; 0 means element size */
  pplan_entry_fn entry;
  const char *model;   /**< what it was compiled from, for --help; or NULL */
  const void *more[4]; /**< NULL */
} pplan_program;

/** The one program of a stand-alone executable, defined by generated code. */
extern const pplan_program pplan_rt_program;

/** What main() of a stand-alone executable does with `program`; returns the exit
 * code (0 done, 1 input at fault, 2 usage, 4 bug). See docs/runtime.md. */
int pplan_rt_program_main(const pplan_program *program, int argc,
                          const char *const *argv);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* PPLAN_RT_PROGRAM_H */
