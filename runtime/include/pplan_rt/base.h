/*===- base.h - status, ranks, streams, events and arenas ------------------===*\
|*
|* The objects that every other part of the ABI refers to. Decides their
|* lifetimes and what an error is; leaves communication to collectives.h.
|*
\*===----------------------------------------------------------------------===*/
#ifndef PPLAN_RT_BASE_H
#define PPLAN_RT_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Version of this ABI; a program carries the one it was compiled against. */
#define PPLAN_RT_ABI_VERSION 2

/** An error. NULL means success. */
typedef struct pplan_status pplan_status;
/** What one rank knows about itself and its mesh; lives as long as the rank. */
typedef struct pplan_context pplan_context;
/** A queue of work that runs in order. */
typedef struct pplan_stream pplan_stream;
/** A mark in a stream that another stream or the host can wait for. */
typedef struct pplan_event pplan_event;
/** A block of device memory with a fixed size. */
typedef struct pplan_arena pplan_arena;

/** Kinds of error. The numbers are part of the ABI. */
typedef enum pplan_status_code {
  PPLAN_OK = 0,
  PPLAN_INVALID_ARGUMENT = 1, /**< a value that the function does not accept */
  PPLAN_OUT_OF_MEMORY = 2,
  PPLAN_MISMATCH = 3,  /**< ranks disagree about what they communicate */
  PPLAN_ABORTED = 4,   /**< ended because another rank failed; not the cause */
  PPLAN_DEADLOCK = 5,  /**< every rank waits for another one */
  PPLAN_IO = 6,        /**< a file cannot be read or written */
  PPLAN_BAD_INPUT = 7, /**< a file or tensor of the user is wrong */
  PPLAN_UNSUPPORTED = 8,
  PPLAN_INTERNAL = 9 /**< a bug in pplan */
} pplan_status_code;

/** Element types. The numbers are part of the ABI. */
typedef enum pplan_dtype {
  PPLAN_F32 = 0,
  PPLAN_F64 = 1,
  PPLAN_F16 = 2,
  PPLAN_BF16 = 3,
  PPLAN_I1 = 4, /**< one byte per element: 0 or 1 */
  PPLAN_I8 = 5,
  PPLAN_U8 = 6,
  PPLAN_I32 = 7,
  PPLAN_I64 = 8
} pplan_dtype;

/** Bytes of one element; 0 for a number that is no dtype. */
size_t pplan_rt_dtype_size(int32_t dtype);
/** Name as in MLIR ("f32", "bf16", "i1", ...); "?" for a number that is none. */
const char *pplan_rt_dtype_name(int32_t dtype);

/*---- status ---------------------------------------------------------------*/

/** Makes an error. Copies `message` and `loc` (the source location of the
 * user's layer, or NULL). Never NULL, even without memory left. */
pplan_status *pplan_rt_error(int32_t code, const char *message,
                             const char *loc);
/** Code of a status; PPLAN_OK for NULL. */
int32_t pplan_rt_status_code(const pplan_status *status);
/** Message, owned by the status; "" for NULL. */
const char *pplan_rt_status_message(const pplan_status *status);
/** Source location, owned by the status; NULL where there is none. */
const char *pplan_rt_status_location(const pplan_status *status);
/** Rank whose call failed first; -1 where no rank is to blame. */
int32_t pplan_rt_status_rank(const pplan_status *status);
/** Frees a status; NULL is allowed. */
void pplan_rt_status_free(pplan_status *status);

/*---- ranks and the mesh ---------------------------------------------------*/

/** What each rank runs. The status it returns is handed to the launcher. */
typedef pplan_status *(*pplan_rank_fn)(pplan_context *ctx, void *user);

/** Runs `body` once for each rank of a mesh with `num_axes` axes of the sizes
 * `axis_sizes` and returns when all have ended. Ranks are numbered row-major
 * over the axes (the last one varies fastest); no axes is a mesh of one rank.
 * As soon as one rank returns an error, every wait of the others ends with
 * PPLAN_ABORTED; the error that came first is returned. */
pplan_status *pplan_rt_launch(int32_t num_axes, const int64_t *axis_sizes,
                              pplan_rank_fn body, void *user);

/** This rank, 0 .. num_ranks - 1. */
int32_t pplan_rt_rank(const pplan_context *ctx);
/** Number of ranks: the product of the axis sizes. */
int32_t pplan_rt_num_ranks(const pplan_context *ctx);
/** Number of mesh axes. */
int32_t pplan_rt_num_axes(const pplan_context *ctx);
/** Size of mesh axis `axis`; 0 for an axis that does not exist. */
int64_t pplan_rt_axis_size(const pplan_context *ctx, int32_t axis);
/** Coordinate of this rank on `axis`; 0 for an axis that does not exist. */
int64_t pplan_rt_axis_coord(const pplan_context *ctx, int32_t axis);

/*---- streams and events ---------------------------------------------------*/

/** The stream that each context has from the start; owned by the context. */
pplan_stream *pplan_rt_default_stream(pplan_context *ctx);
/** Makes another stream, to be destroyed before the rank returns. */
pplan_status *pplan_rt_stream_create(pplan_context *ctx, pplan_stream **out);
/** Ends a stream after its work is done; NULL and the default are ignored. */
void pplan_rt_stream_destroy(pplan_stream *stream);
/** Waits on the host until all work given to `stream` is done, and returns the
 * first error that it met. */
pplan_status *pplan_rt_stream_synchronize(pplan_stream *stream);

/** Makes an event that nothing was recorded into; it counts as reached. */
pplan_status *pplan_rt_event_create(pplan_context *ctx, pplan_event **out);
void pplan_rt_event_destroy(pplan_event *event);
/** Marks the present end of `stream`. A later record replaces the mark. */
pplan_status *pplan_rt_event_record(pplan_event *event, pplan_stream *stream);
/** Lets later work of `stream` start only after the mark was reached. */
pplan_status *pplan_rt_stream_wait_event(pplan_stream *stream,
                                         pplan_event *event);
/** 1 in `*reached` if the mark was reached, else 0. Never waits. */
pplan_status *pplan_rt_event_query(pplan_event *event, int32_t *reached);

/*---- memory ---------------------------------------------------------------*/

/** Allocates `bytes` (0 is allowed) of device memory, aligned to 64 bytes or
 * better. Pages that are never touched cost no physical memory. */
pplan_status *pplan_rt_arena_create(pplan_context *ctx, uint64_t bytes,
                                    pplan_arena **out);
/** First byte of an arena. */
void *pplan_rt_arena_base(pplan_arena *arena);
/** Size given to pplan_rt_arena_create. */
uint64_t pplan_rt_arena_bytes(const pplan_arena *arena);
void pplan_rt_arena_destroy(pplan_arena *arena);

/*---- profile --------------------------------------------------------------*/

/** Start and end of the op that the user knows as `loc`, a string that lives as
 * long as the program. Ops may nest. A load and a branch when off. */
void pplan_rt_op_begin(pplan_context *ctx, const char *loc);
void pplan_rt_op_end(pplan_context *ctx, const char *loc);

/** What one op took on one rank. */
typedef struct pplan_profile_row {
  const char *loc;       /**< as given to pplan_rt_op_begin or a collective */
  int32_t communication; /**< 1: inside collectives, sends and receives */
  int32_t reserved;
  uint64_t calls;
  double seconds; /**< without the time of ops and communication inside it */
} pplan_profile_row;

/** Starts counting anew (on = 1) or stops (on = 0). Off at first. */
void pplan_rt_profile(pplan_context *ctx, int32_t on);
/** Copies up to `capacity` rows in order of first use; returns how many there
 * are. */
int64_t pplan_rt_profile_rows(const pplan_context *ctx,
                              pplan_profile_row *rows, int64_t capacity);

/** Bytes that the back end itself may hold per rank beside arena, parameters and
 * inputs and outputs: stacks, GEMM packing buffers, communicators. A constant. */
uint64_t pplan_rt_reserve_bytes(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* PPLAN_RT_BASE_H */
