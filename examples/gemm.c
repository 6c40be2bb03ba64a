/* D = A * B from C: on the GPU if there is one that kernels run on, on the emulated machine otherwise.
 *
 *   cc gemm.c $(pkg-config --cflags --libs lapidary) && ./a.out
 */
#include <lapidary/lapidary.h>
#include <stdio.h>
#include <stdlib.h>

static lapidary_context* context;

static void check(lapidary_status status) {
  if (status == LAPIDARY_SUCCESS) return;
  fprintf(stderr, "lapidary: %s\n", lapidary_last_error());
  exit(1);
}

static void* on_device(const float* values, size_t bytes) {
  void* memory;
  check(lapidary_allocate(context, bytes, &memory));
  if (values) check(lapidary_upload(context, memory, values, bytes));
  return memory;
}

int main(void) {
  enum { M = 2, N = 3, K = 4 };
  const float a[M * K] = {1, 2, 3, 4, 5, 6, 7, 8}, b[K * N] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1};
  float d[M * N];
  lapidary_matrix A, B, D;
  char why[400];

  if (lapidary_create(LAPIDARY_GPU, &context) != LAPIDARY_SUCCESS) check(lapidary_create(LAPIDARY_EMULATED, &context));
  A = lapidary_row_major(on_device(a, sizeof(a)), LAPIDARY_F32, M, K);
  B = lapidary_row_major(on_device(b, sizeof(b)), LAPIDARY_F32, K, N);
  D = lapidary_row_major(on_device(NULL, sizeof(d)), LAPIDARY_F32, M, N);
  check(lapidary_gemm(context, NULL, 1, &A, &B, 0, NULL, &D, NULL));
  check(lapidary_download(context, d, D.data, sizeof(d)));
  check(lapidary_explain(context, 1, &A, &B, 0, NULL, &D, NULL, NULL, why, sizeof(why)));
  printf("%g %g %g\n%g %g %g\n%s\n", d[0], d[1], d[2], d[3], d[4], d[5], why);
  check(lapidary_free(context, A.data));
  check(lapidary_free(context, B.data));
  check(lapidary_free(context, D.data));
  lapidary_destroy(context);
  return 0;
}
