/* D = alpha * A * B + beta * C for C, and for what calls C: lapidary/gemm.hpp in handles and status codes.
 *
 *   lapidary_context* context;
 *   if (lapidary_create(LAPIDARY_GPU, &context) != LAPIDARY_SUCCESS) puts(lapidary_last_error());
 *   lapidary_matrix A = lapidary_row_major(a, LAPIDARY_F16, M, K), ...;
 *   lapidary_gemm(context, stream, 1, &A, &B, 0, NULL, &D, NULL);
 *
 * The same in steps, for who calls it often, has weights copied once, or a workspace of his own:
 *
 *   lapidary_plan* plan;
 *   lapidary_plan_create(context, NULL, 1, &A, &B, 0, NULL, &D, NULL, &plan);
 *   lapidary_operands at = {sizeof(at), A.data, B.data, NULL, D.data};
 *   lapidary_run(context, plan, stream, 1, 0, &at, NULL);
 *
 * Functions return a status, and leave what went wrong in words for lapidary_last_error(). What a function returns by a
 * pointer is not touched unless it succeeds. No exception leaves any of them. Several threads may use one context at
 * the same time.
 */
#ifndef LAPIDARY_H
#define LAPIDARY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum lapidary_status {
  LAPIDARY_SUCCESS = 0,
  LAPIDARY_INVALID_ARGUMENT = 1, /* a rule was broken; the message names it, the value and what is legal */
  LAPIDARY_DEVICE_ERROR = 2,     /* the GPU or its driver failed */
  LAPIDARY_KERNEL_FAULT = 3,     /* the emulated machine stopped a kernel */
  LAPIDARY_OUT_OF_MEMORY = 4,    /* of the host */
  LAPIDARY_INTERNAL_ERROR = 5    /* none of these: please report it */
} lapidary_status;

/* Of elements. Sums are of f32, of s8 integers until they are scaled; those of e4m3 are as docs/api.md says. C and D
 * are f32, f16 or bf16, or where A and B are s8 s32: then D is A * B modulo 2^32, alpha is 1 and beta 0, and there is
 * no epilogue. */
typedef enum lapidary_type {
  LAPIDARY_F32 = 0,
  LAPIDARY_F16 = 1,
  LAPIDARY_BF16 = 2,
  LAPIDARY_TF32 = 3,
  LAPIDARY_E4M3 = 4,
  LAPIDARY_S8 = 5,
  LAPIDARY_S32 = 6, /* of C and D alone */
  /* No kernel computes these yet, and they are refused by their names. Their values stay when one does, and no other
   * type will have them. */
  LAPIDARY_E5M2 = 64,
  LAPIDARY_F64 = 65
} lapidary_type;

typedef enum lapidary_device {
  LAPIDARY_GPU = 0,      /* the current CUDA device */
  LAPIDARY_EMULATED = 1, /* a machine on the CPU that runs the same kernels */
  LAPIDARY_CHECKED = 2   /* the same, and every access of theirs is checked */
} lapidary_device;

/* A matrix in the memory of a device, or `count` of them: element (i, j) of matrix b is
 * data[b * batch_stride + i * row_stride + j * col_stride], in elements. One of row_stride and col_stride is 1, the
 * other one at least the length of a line. A batch_stride of 0: all are one and the same, which results must not be. A
 * count of 0, which is what an initializer that leaves it out gives, stands for 1; for an empty batch call nothing. */
typedef struct lapidary_matrix {
  void* data;
  lapidary_type type;
  int64_t rows, cols;
  int64_t row_stride, col_stride;
  int64_t count, batch_stride;
} lapidary_matrix;

/* One matrix whose rows, or columns, follow one another without gaps. */
static inline lapidary_matrix lapidary_row_major(const void* data, lapidary_type type, int64_t rows, int64_t cols) {
  lapidary_matrix x;
  x.data = (void*)data;
  x.type = type;
  x.rows = rows;
  x.cols = cols;
  x.row_stride = cols;
  x.col_stride = 1;
  x.count = 1;
  x.batch_stride = 0;
  return x;
}
static inline lapidary_matrix lapidary_column_major(const void* data, lapidary_type type, int64_t rows, int64_t cols) {
  lapidary_matrix x = lapidary_row_major(data, type, rows, cols);
  x.row_stride = 1;
  x.col_stride = rows;
  return x;
}

typedef enum lapidary_bias {
  LAPIDARY_NO_BIAS = 0,
  LAPIDARY_BIAS_OF_COLUMNS = 1, /* N numbers: one for each column of D */
  LAPIDARY_BIAS_OF_ROWS = 2     /* M numbers: one for each row of D */
} lapidary_bias;

typedef enum lapidary_activation {
  LAPIDARY_NO_ACTIVATION = 0,
  LAPIDARY_RELU = 1,
  LAPIDARY_GELU_ERF = 2,  /* by the error function */
  LAPIDARY_GELU_TANH = 3, /* its approximation by a hyperbolic tangent */
  LAPIDARY_SILU = 4
} lapidary_activation;

/* What is done to t = alpha * A * B + beta * C before it is stored, in f32:
 *
 *   D = clamp(scale * activation(t + bias) + residual)
 *
 * Set it to zeros, then `size`, then what is asked for. */
typedef struct lapidary_epilogue {
  size_t size; /* sizeof(lapidary_epilogue) */
  lapidary_bias bias;
  const void* bias_data; /* of the type of D, one number after the other; all products of a batch share it */
  lapidary_activation activation;
  int scales; /* whether by `scale` */
  float scale;
  const lapidary_matrix* residual; /* as D is, of its type and order; it may be D. Null: none */
  int clamps;                      /* whether to `low`, `high` and what is between them */
  float low, high;
  const float* alpha; /* in device memory, outside of D, in place of the argument; null: that one */
  const float* beta;
} lapidary_epilogue;

/* Choices of one's own: lapidary_table_create(). */
typedef struct lapidary_table lapidary_table;

/* What a choice is asked for. Set it to zeros, then `size`, then what differs. */
typedef struct lapidary_options {
  size_t size;                       /* sizeof(lapidary_options) */
  size_t workspace_bytes;            /* the most that may be taken; 0 if `no_workspace` is 0: any */
  int no_workspace;                  /* none at all */
  int batch_invariant;               /* a row's results depend neither on M nor on other rows, nor on where A begins or
                                        on the workspace, bit by bit: too little of that is refused; of e4m3 where D has
                                        the same order, strides and alignment, that of a single row too */
  int fast_accumulation;             /* e4m3 may be added up with 13 fraction bits */
  const char* kernel;                /* the only one that may be chosen, by its id; null: any */
  const lapidary_epilogue* epilogue; /* null: none */
  int prepared_a, prepared_b;        /* of lapidary_plan_create() alone: if A, or B, is copied at all, the copy is there
                                        before a run, as lapidary_prepare() makes it */
  const lapidary_table* table;       /* what it says of a product is done where it can be, unless `kernel` or
                                        `batch_invariant` say otherwise; null: none. May be destroyed after the call */
} lapidary_options;

/* Where the matrices of several products are: arrays of `count` addresses each, in host memory. Set it to zeros, then
 * `size`, then the others. */
typedef struct lapidary_list {
  size_t size; /* sizeof(lapidary_list) */
  int64_t count;
  void* const* A;
  void* const* B;
  void* const* C; /* may be null where C is not read */
  void* const* D;
  void* const* bias;     /* null: all share the one of the epilogue */
  void* const* residual; /* null: likewise */
} lapidary_list;

/* A matrix that a plan may have copied before its runs. */
typedef enum lapidary_operand { LAPIDARY_A = 0, LAPIDARY_B = 1 } lapidary_operand;

/* Where the operands of a plan's product are, the first matrices of a batch, in device memory. Set it to zeros, then
 * `size`, then the others. What the product does not have does not count. */
typedef struct lapidary_operands {
  size_t size; /* sizeof(lapidary_operands) */
  const void* A;
  const void* B;
  const void* C; /* may be null where beta is 0 */
  void* D;
  const void* prepared_a; /* the copy by lapidary_prepare(), where the plan asks for one: A may be null then */
  const void* prepared_b;
  /* Of an epilogue, and of factors in device memory. Null: as when the plan was created; a plan from its id has none,
   * and needs those that its product has. */
  const void* bias;
  const void* residual;      /* a matrix as it was then, in another place */
  const float* scale;        /* a number on the host */
  const float* limits;       /* of a clamp: two numbers on the host, the lower one first */
  const float* device_alpha; /* in device memory, outside of D */
  const float* device_beta;
  const int64_t* group_ends; /* of a plan of groups from its id: as lapidary_gemm_grouped() has them */
} lapidary_operands;

/* What a plan says. Texts live as long as the plan. */
typedef struct lapidary_plan_info {
  size_t size;                               /* sizeof(lapidary_plan_info), set by who asks */
  const char* id;                            /* by which lapidary_plan_from_id() makes it again, here or elsewhere */
  const char* card;                          /* that it is for */
  const char* kernel;                        /* by its id; "" if none is launched, as D has no elements */
  const char* why;                           /* this way and not the next best: one sentence */
  double seconds;                            /* that it is expected to take */
  size_t workspace_bytes;                    /* that a run needs beside its matrices */
  size_t prepared_a_bytes, prepared_b_bytes; /* of the copies to be made before a run; 0 if there is none */
  int packs_a, packs_b;                      /* copied before the kernel reads them, in each run or before */
  int finishes;                              /* the kernel stores sums, and a second launch makes results of them */
  int batch_invariant;                       /* a row of the results depends neither on M nor on other rows */
  /* A result is off by no more than products * |alpha| * sum_k |a_k * b_k| + addend * |beta * c| + rounding * |result|
   * + least, before an epilogue, as long as nothing overflows and no product, no sum of them and no alpha times that is
   * below the least normal number of f32, 2^-126, without being 0. */
  double error_products, error_addend, error_rounding, error_least;
  int parts; /* of K, whose sums are stored apart; the second launch adds them up */
  int waits; /* the kernel begins when the launch in front of it has ended, though it could begin before */
} lapidary_plan_info;

/* How a product is computed, once for all times: it never changes, and any number of threads may use it. */
typedef struct lapidary_plan lapidary_plan;

typedef struct lapidary_context lapidary_context;

/* "0.1.0" */
const char* lapidary_version(void);

/* What went wrong in the last call of this thread that did not succeed; "" if there was none. Valid until the next. */
const char* lapidary_last_error(void);

/* Which rule that call broke, as docs/refusals.md lists them: "shape.b". Other than the message it stays the same from
 * version to version. "" if it failed otherwise, or if there was none. */
const char* lapidary_last_refusal(void);

/* How many GPUs there are that kernels of this library run on. The current CUDA device need not be one of them. */
int lapidary_gpu_count(void);

/* A context on a device. LAPIDARY_GPU is refused where kernels do not run on the current CUDA device, or where there is
 * none. lapidary_destroy() ends it; null is let pass. */
lapidary_status lapidary_create(lapidary_device device, lapidary_context** context);
void lapidary_destroy(lapidary_context* context);

/* Lets go of all that a context keeps between calls: plans, launches and workspaces. Nothing of them may be in use. The
 * default context is made by the first call that it is for, and ends with the program: null clears it, and does nothing
 * where there is none yet. Before cudaDeviceReset() it is to be cleared, and contexts of one's own to be destroyed;
 * after that, contexts are made anew. */
lapidary_status lapidary_clear(lapidary_context* context);

/* Memory of a context's device, aligned to 256 bytes, for those who have no other way to get it: on a GPU what
 * cudaMalloc() gives does as well. On an emulated machine lapidary_free() refuses what lapidary_allocate() did not give
 * in that context, and what was freed before, and copies that leave an allocation are refused; on a GPU both are the
 * driver's to notice. Null is freed without effect.
 *
 * Copies are done when they return. On a GPU they wait for work on the default stream, as lapidary_gemm() with a null
 * stream has, and for that alone: what was given to another stream is to be waited for before its results are
 * downloaded or its operands overwritten. lapidary_synchronize() waits for all work of the device. */
lapidary_status lapidary_allocate(lapidary_context* context, size_t bytes, void** memory);
lapidary_status lapidary_free(lapidary_context* context, void* memory);
lapidary_status lapidary_upload(lapidary_context* context, void* to, const void* from, size_t bytes);
lapidary_status lapidary_download(lapidary_context* context, void* to, const void* from, size_t bytes);
lapidary_status lapidary_synchronize(lapidary_context* context);

/* D = alpha * A * B + beta * C, in the order of a stream: a cudaStream_t, null for the default one and on emulated
 * machines. A null context is the default one of the current CUDA device. On a GPU it returns before the product is
 * there. A is M x K, B is K x N, C and D are M x N, each row- or column-major, C and D alike; A and B of one type. D
 * may be C; it overlaps neither A nor B. With a beta of 0, C is not read and may be null; with an alpha of 0 on the
 * host, neither A nor B is read. `options` may be null. */
lapidary_status lapidary_gemm(lapidary_context* context, void* stream, float alpha, const lapidary_matrix* A,
                              const lapidary_matrix* B, float beta, const lapidary_matrix* C, const lapidary_matrix* D,
                              const lapidary_options* options);

/* The same for products whose matrices lie anywhere, one after the other, each launched as lapidary_gemm() does it: a
 * product may read what one before it has stored. A, B, C and D, and the epilogue's residual, say how the matrices of
 * each product are, and are of a count of 1; their data do not count, nor does `bias_data` where the list has biases.
 * D is C in all of the products or in none of them. Whatever is refused is so before the first launch. The arrays may
 * be let go of when it returns. */
lapidary_status lapidary_gemm_list(lapidary_context* context, void* stream, float alpha, const lapidary_matrix* A,
                                   const lapidary_matrix* B, float beta, const lapidary_matrix* C,
                                   const lapidary_matrix* D, const lapidary_options* options,
                                   const lapidary_list* list);

/* Products that lie one below the other, in one launch: group g of `groups` has the rows of A, C and D from
 * group_ends[g - 1], or 0, to group_ends[g], and B number g; B has a count of `groups`, or of 1 for all. The ends are
 * numbers in device memory that are read when the kernel runs, do not decrease, and are at most the rows that D has:
 * what lies outside of that counts as the nearest number that does not. Rows behind the last group are not written. All
 * matrices are of f16, or all of bf16; A, C and D are row-major; A, B, D, their lines and each B begin at multiples of
 * 16 bytes, and N is a multiple of 8. There is no epilogue, and alpha is not 0. */
lapidary_status lapidary_gemm_grouped(lapidary_context* context, void* stream, float alpha, const lapidary_matrix* A,
                                      const lapidary_matrix* B, float beta, const lapidary_matrix* C,
                                      const lapidary_matrix* D, const lapidary_options* options,
                                      const int64_t* group_ends, int64_t groups);

/* How lapidary_gemm() would do that in that context: the text of the plan's id, and why, of at most `length` bytes with
 * the 0 at their ends; what does not fit is cut off. Either may be null. Matrices may have no data: they then count as
 * aligned. */
lapidary_status lapidary_explain(lapidary_context* context, float alpha, const lapidary_matrix* A,
                                 const lapidary_matrix* B, float beta, const lapidary_matrix* C,
                                 const lapidary_matrix* D, const lapidary_options* options, char* id, char* why,
                                 size_t length);

/* A table of choices from its text: lines of types and orders, sizes, a kernel by its id, and which of A and B are
 * copied first, as `f16-RCR 4096x4096x64 wgmma_staged_128x256x64_s4_e2x64_f16-RC a`, of single products; what follows a
 * # does not count. lapidary_table_destroy() ends it; null is let pass. */
lapidary_status lapidary_table_create(const char* text, lapidary_table** table);
void lapidary_table_destroy(lapidary_table* table);

/* The plan of lapidary_gemm() for these arguments; of matrices without data, as if they were aligned. It is for `card`,
 * a GPU by its name as "h200", with which the context does not count and may be null; if that is null for the
 * context's, or without one for that of the current CUDA device. lapidary_plan_destroy() ends a plan; null is let pass,
 * and what was run by it stays. */
lapidary_status lapidary_plan_create(lapidary_context* context, const char* card, float alpha, const lapidary_matrix* A,
                                     const lapidary_matrix* B, float beta, const lapidary_matrix* C,
                                     const lapidary_matrix* D, const lapidary_options* options, lapidary_plan** plan);
/* The plan of that id, as lapidary_plan_info has it; refused if it is none, or of a kernel that is not in here. */
lapidary_status lapidary_plan_from_id(const char* id, lapidary_plan** plan);
void lapidary_plan_destroy(lapidary_plan* plan);

/* Fills in as much of `info` as its size has. */
lapidary_status lapidary_plan_describe(const lapidary_plan* plan, lapidary_plan_info* info);

/* Makes the copy of A or B, as of weights, that a plan with `prepared_a` or `prepared_b` asks for, in the order of the
 * stream: once for all runs. `to` has `prepared_a_bytes` or `prepared_b_bytes` of device memory, aligned to 256, none
 * of them the matrix's; a plan that takes the matrix as it is refuses. */
lapidary_status lapidary_prepare(lapidary_context* context, const lapidary_plan* plan, void* stream,
                                 lapidary_operand operand, const void* from, void* to);

/* Computes what a plan says, in the order of the stream, as lapidary_gemm() does it, on operands that are as its
 * product was when it was created: what breaks that is refused. @param workspace  `workspace_bytes` of device memory,
 * aligned to 256, that nothing else uses until it is done, and of which no operand is a part; null: the context's own.
 * With an alpha of 0 neither A, B nor their copies are read, and all may be null: unless the plan was created with one,
 * that is another plan's, which the context makes when it first comes and which may take the context's workspace. */
lapidary_status lapidary_run(lapidary_context* context, const lapidary_plan* plan, void* stream, float alpha,
                             float beta, const lapidary_operands* operands, void* workspace);

#ifdef __cplusplus
}
#endif

#endif
