// Warp matrix functions with sums of half, 32 x 8 results a warp; A and C are column-major, B is row-major, and C is
// read and written in place. M, N and K must be multiples of 32, 8 and 16.
#include <cuda_fp16.h>
#include <mma.h>

__global__ void wmma_half(const half* A, const half* B, half* C, int M, int N, int K, float alpha, float beta) {
  using namespace nvcuda::wmma;
  const int row = blockIdx.y * 32, col = blockIdx.x * 8;
  fragment<accumulator, 32, 8, 16, half> sum, c;
  fill_fragment(sum, half(0.0f));
  for (int k = 0; k < K; k += 16) {
    fragment<matrix_a, 32, 8, 16, half, col_major> a;
    fragment<matrix_b, 32, 8, 16, half, row_major> b;
    load_matrix_sync(a, A + k * M + row, M);
    load_matrix_sync(b, B + k * N + col, N);
    mma_sync(sum, a, b, sum);
  }
  load_matrix_sync(c, C + col * M + row, M, mem_col_major);
  for (int i = 0; i < c.num_elements; ++i) c.x[i] = alpha * float(sum.x[i]) + beta * float(c.x[i]);
  store_matrix_sync(C + col * M + row, c, M, mem_col_major);
}

void launch(const half* A, const half* B, half* C, int M, int N, int K, float alpha, float beta) {
  wmma_half<<<dim3(N / 8, M / 32), 32>>>(A, B, C, M, N, K, alpha, beta);
}
